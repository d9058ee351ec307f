"""AnnData the way of scanpy: by names, missing labels predicted, results where one looks for them, files."""

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hypermargin as hm
from hypermargin.cli import main


@pytest.fixture
def adata():
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], 20)
    centres = 0.6 * np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])
    types = np.array(["stem", "blood", "nerve"], dtype=object)[kind]
    types[[0, 25, 50]] = np.nan
    cells = ad.AnnData(rng.poisson(1.0, size=(60, 5)).astype(np.float32))
    cells.obs_names = [f"AAAC{k:02d}" for k in range(60)]
    cells.obs["cell_type"] = pd.Categorical(types, categories=["stem", "nerve", "blood"])
    cells.uns["cell_type_colors"] = ["#111111", "#222222", "#333333"]
    cells.obsm["X_poincare"] = centres[kind] + 0.1 * rng.normal(size=(60, 2))
    return cells


def test_results_are_those_of_the_estimator_on_the_labelled_cells(adata):
    fitted = hm.anndata.classify(adata, basis="X_poincare", groupby="cell_type", C=2.0)
    X, known = adata.obsm["X_poincare"], adata.obs["cell_type"].notna().to_numpy()
    expected = hm.HyperbolicSVC(C=2.0, geometry="poincare").fit(X[known], adata.obs["cell_type"][known].astype(str))
    assert_array_equal(adata.obs["hypermargin"], expected.predict(X))
    assert_allclose(adata.obsm["hypermargin_probabilities"][expected.classes_], expected.predict_proba(X))
    assert_allclose(adata.obs["hypermargin_probability"], expected.predict_proba(X).max(axis=1))
    assert_allclose(adata.obs["hypermargin_radius"], expected.certified_radius(X))
    assert_array_equal(fitted.coef_, expected.coef_)
    # Cells without a label got that of their neighbours, in the order and colours of the labels.
    assert adata.obs["hypermargin"].iloc[[0, 25, 50]].tolist() == ["stem", "blood", "nerve"]
    assert adata.obs["hypermargin"].cat.categories.tolist() == ["stem", "nerve", "blood"]
    assert adata.uns["hypermargin_colors"] == ["#111111", "#222222", "#333333"]
    assert adata.uns["hypermargin"]["predicted_cells"] == 3


def test_a_model_is_chosen_and_the_classifier_travels_with_the_file(adata, tmp_path, capsys):
    fitted = hm.anndata.classify(adata, verbose=0)
    assert capsys.readouterr().err == ""
    assert isinstance(fitted, hm.HyperbolicClassifierCV)
    assert adata.uns["hypermargin"]["cross_validated_accuracy"] == fitted.best_score_
    assert adata.uns["hypermargin"]["explanation"] == fitted.explanation_
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = ad.read_h5ad(tmp_path / "cells.h5ad")
    loaded = hm.anndata.model(again)
    assert_array_equal(loaded.predict_proba(again.obsm["X_poincare"]), fitted.predict_proba(adata.obsm["X_poincare"]))
    display = hm.anndata.plot(again, "cell_type")
    assert {text.get_text() for text in display.ax_.get_legend().get_texts()} >= {"stem", "nerve", "blood"}


def test_the_search_over_C_is_still_there(adata):
    fitted = hm.anndata.classify(adata, estimator=hm.HyperbolicSVCCV(geometry="poincare"))
    assert adata.uns["hypermargin"]["C"] == fitted.C_
    assert adata.uns["hypermargin"]["cross_validated_accuracy"] == pytest.approx(fitted.scores_.mean(axis=0).max())


def test_the_text_nan_is_no_label(adata):
    adata.obs["text"] = adata.obs["cell_type"].astype(str)
    assert (adata.obs["text"] == "nan").sum() == 3
    fitted = hm.anndata.classify(adata, groupby="text", C=2.0)
    assert fitted.classes_.tolist() == ["blood", "nerve", "stem"]
    assert adata.obs["hypermargin"].iloc[[0, 25, 50]].tolist() == ["stem", "blood", "nerve"]


def test_cells_far_from_all_others_are_unknown_and_radii_come_on_request(adata):
    adata.obsm["X_poincare"][0] = [0.0, -0.999]
    forest = hm.HyperbolicForestClassifier(n_estimators=5, geometry="poincare", random_state=0)
    hm.anndata.classify(adata, estimator=forest, reject=0.1)
    assert adata.obs["hypermargin"].iloc[0] == "unknown"
    assert adata.obs["hypermargin"].cat.categories[-1] == "unknown"
    assert len(adata.uns["hypermargin_colors"]) == 4
    assert (adata.obs["hypermargin"] != "unknown").mean() > 0.8
    assert "hypermargin_radius" not in adata.obs
    hm.anndata.classify(adata, estimator=forest, radii=True)
    assert_allclose(adata.obs["hypermargin_radius"], forest.certified_radius(adata.obsm["X_poincare"]))
    with pytest.raises(ValueError, match="has no certified radii"):
        hm.anndata.classify(adata, estimator=hm.HyperbolicKNeighborsClassifier(geometry="poincare"), radii=True)


def test_planted_wrong_labels_head_the_list_of_suspects(adata):
    wrong = adata.obs_names[[3, 22, 47, 58]]
    planted = adata.obs["cell_type"].copy()
    planted[wrong] = ["blood", "nerve", "stem", "blood"]
    adata.obs["cell_type"] = planted
    for estimator in (None, hm.HyperbolicForestClassifier(n_estimators=10, geometry="poincare", random_state=0)):
        hm.anndata.classify(adata, estimator=estimator, verbose=0)
        found = hm.anndata.suspects(adata)
        assert set(found.index[:4]) == set(wrong)
        assert len(found) == 57
        assert found["own_probability"].is_monotonic_increasing
        own = adata.obs["hypermargin_own_probability"]
        assert_array_equal(own.isna(), adata.obs["cell_type"].isna())
        assert (own.loc[found.index] == found["own_probability"]).all()
    assert dict(found["predicted"].iloc[:4])[wrong[0]] == "stem"


def test_cells_are_coloured_by_any_column_and_in_the_colours_of_scanpy(adata):
    hm.anndata.classify(adata, C=1.0)
    display = hm.anndata.plot(adata, "cell_type")
    assert_allclose(display.points_["nerve"].get_facecolors()[0, :3], np.full(3, 0x22 / 255))
    adata.obs["batch"] = pd.Categorical([f"batch {k % 25}" for k in range(60)])
    display = hm.anndata.plot(adata, "batch")
    colours = {tuple(collection.get_facecolors()[0]) for collection in display.points_.values()}
    assert len(colours) == 25
    adata.obs["depth"] = np.linspace(0.0, 5.0, 60)
    display = hm.anndata.plot(adata, "depth")
    (drawn,) = [part for part in display.ax_.collections if part.get_array() is not None]
    assert_array_equal(drawn.get_array(), adata.obs["depth"])
    ball = drawn.get_offsets()
    assert_allclose(ball, adata.obsm["X_poincare"], atol=1e-12)


def test_names_that_are_not_there_and_coordinates_that_are_not_told(adata):
    with pytest.raises(KeyError, match="obsm has no 'X_umap'; it has X_poincare"):
        hm.anndata.classify(adata, basis="X_umap")
    with pytest.raises(KeyError, match="obs has no 'kind'; it has cell_type"):
        hm.anndata.classify(adata, groupby="kind")
    adata.obsm["X_emb"] = adata.obsm["X_poincare"]
    with pytest.raises(ValueError, match="does not tell what the coordinates are"):
        hm.anndata.classify(adata, basis="X_emb")
    with pytest.raises(KeyError, match="classify first"):
        hm.anndata.model(adata)
    with pytest.raises(ValueError, match="belong to the estimator"):
        hm.anndata.classify(adata, estimator=hm.HyperbolicSVC(), C=1.0)
    adata.obs["cell_type"] = np.nan
    with pytest.raises(ValueError, match="no cell has a label"):
        hm.anndata.classify(adata)


def test_fit_of_an_anndata_points_to_classify(adata):
    for estimator in (hm.HyperbolicSVC(), hm.HyperbolicSVCCV()):
        with pytest.raises(TypeError, match=r"hypermargin\.anndata\.classify"):
            estimator.fit(adata)


def test_the_command_line_reads_h5ad(adata, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    adata.obsm["X_pca"] = np.zeros((60, 4))
    adata.write_h5ad("cells.h5ad")
    options = ("cells.h5ad", "--geometry", "poincare", "--label", "obs:cell_type", "-o", "model.npz")
    assert main(["fit", *options]) == 2
    assert "--obsm which coordinates to take: X_pca, X_poincare" in capsys.readouterr().err
    assert main(["fit", *options, "--obsm", "X_poincare"]) == 2
    assert "cell 'AAAC00' has no label (3 rows have none)" in capsys.readouterr().err
    assert main(["fit", *options, "--obsm", "X_poincare", "--skip-unlabelled"]) == 0
    capsys.readouterr()
    assert main(["predict", "model.npz", "cells.h5ad", "--obsm", "X_poincare"]) == 0
    lines = dict(line.split(",") for line in capsys.readouterr().out.split()[1:])
    assert (lines["AAAC00"], lines["AAAC25"], lines["AAAC50"]) == ("stem", "blood", "nerve")
    for arguments, message in (
        (("--obsm", "X_umap"), "has no obsm 'X_umap'"),
        (("--obsm", "X_poincare", "--label", "obs:kind"), "no column 'kind' in obs; it has cell_type"),
        (("--obsm", "X_poincare", "--columns", "x"), "--columns names columns of a table"),
    ):
        assert main(["fit", *options, *arguments]) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "broken.h5ad").write_text("no")
    assert main(["fit", "broken.h5ad", "-o", "model.npz"]) == 2
    assert "is not an AnnData file" in capsys.readouterr().err
