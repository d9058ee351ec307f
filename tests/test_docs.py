"""The README and the pages in docs: their code runs, their links lead somewhere, their promises are kept."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

from hypermargin import HyperbolicSVC, MarginProblem, __version__, solve
from hypermargin.datasets import load_karate
from hypermargin.geometry import distance, frechet_mean
from hypermargin.solvers import base
from reference.objective import lift

ROOT = Path(__file__).parents[1]
CLAIMS = tomllib.loads((ROOT / "tests" / "claims.toml").read_text(encoding="utf-8"))["claim"]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def code_blocks(page, language="python"):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def registry(monkeypatch):
    """What a page registers is forgotten after the test."""
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))


@pytest.mark.parametrize("page", [page for page in PAGES if code_blocks(page)], ids=lambda page: page.name)
def test_the_code_of_a_page_runs_from_top_to_bottom_and_prints_what_is_shown(
    page, registry, tmp_path, monkeypatch, capsys
):
    """A block marked ``text`` shows the output of the block of Python before it."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names = {"__name__": "page"}
    printed = None
    for language, block in blocks:
        if language == "python":
            exec(compile(block, page.name, "exec"), names)
            printed = capsys.readouterr().out
        elif printed is not None:
            assert printed == block


@pytest.mark.parametrize("page", [page for page in PAGES if code_blocks(page, "py")], ids=lambda page: page.name)
def test_code_that_needs_more_runs_where_that_is_installed(page, tmp_path, monkeypatch):
    """Blocks marked ``py`` stand for themselves and import what the development environment may lack."""
    monkeypatch.chdir(tmp_path)
    ran = 0
    for block in code_blocks(page, "py"):
        packages = re.findall(r"^(?:import|from) (\w+)", block, flags=re.MULTILINE)
        if all(importlib.util.find_spec(name) for name in packages):
            exec(compile(block, page.name, "exec"), {"__name__": "page"})
            ran += 1
    if not ran:
        pytest.skip("none of the packages that the page speaks of is installed")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        if not target.startswith(
            ("gallery/", "tutorials/", "api/")
        ):  # those are made with the site, whose links `make docs` checks
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


SOURCES = {
    path.relative_to(ROOT).as_posix()
    for folder in ("src", "tests", "benchmarks", "docs")
    for path in (ROOT / folder).rglob("*.py")
}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page):
    for named in re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8")):
        assert any(f"/{path}".endswith(f"/{named}") for path in SOURCES), f"{page.name} speaks of {named}"


@pytest.mark.parametrize("package", ["hypermargin", "hypermargin_studies"])
def test_the_map_shows_every_part_of_the_package(package):
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for part in (ROOT / "src" / package).iterdir():
        is_package = (part / "__init__.py").exists()
        if is_package or (part.suffix == ".py" and not part.name.startswith("__")):
            assert f"`{part.name}/`" in text or f"`{part.name}`" in text, (
                f"docs/architecture.md does not list {part.name}"
            )


def test_every_page_is_in_a_table_of_contents():
    entries = {"index"}
    for page in (ROOT / "docs").rglob("*.md"):
        if "_build" not in page.parts:
            for block in code_blocks(page, "{toctree}"):
                entries |= {line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")}
    pages = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in documented_pages()}
    assert pages - entries == set()


def documented_pages():
    made = ("_build", "api", "gallery", "tutorials")
    return [path for path in (ROOT / "docs").rglob("*.md") if path.relative_to(ROOT / "docs").parts[0] not in made]


def test_the_readme_leads_from_what_it_is_to_how_to_cite_it():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    order = [
        "## Install",
        "pip install",
        "make demo",
        "](docs/images/",
        "## First steps",
        "```python",
        "## Why",
        "## I have",
    ]
    places = [text.index(mark) for mark in (*order, "## Compared with", "## Cite")]
    assert places == sorted(places)
    example = [line for line in code_blocks(ROOT / "README.md")[0].splitlines() if line.strip()]
    assert len(example) <= 12


def test_the_snippet_of_the_readme_writes_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code_blocks(ROOT / "README.md")[0], "README.md", "exec"), {"__name__": "page"})
    page = (tmp_path / "karate.html").read_text(encoding="utf-8")
    assert "Mr. Hi" in page
    assert "Officer" in page


def numbers_in(text):
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", text)]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim['page']}: {claim['says'][:40]}")
def test_figures_of_pages_are_those_of_the_generated_tables(claim):
    """tests/claims.toml: a sentence of a page, and the table row and cells where its figures come from.

    A figure of the page is the figure of the table, rounded to the digits that the page shows.
    """
    text = " ".join((ROOT / claim["page"]).read_text(encoding="utf-8").split())
    assert claim["says"] in text
    rows = [line for line in (ROOT / claim["table"]).read_text(encoding="utf-8").splitlines() if claim["row"] in line]
    assert rows, f"{claim['table']} has no row {claim['row']!r}"
    shown, measured = claim["figures"], numbers_in(rows[0].replace(claim["row"], ""))
    for figure in shown:
        assert str(figure) in claim["says"], f"{figure} is not in the sentence"
        text_of = str(figure).replace(",", "")
        digits = len(text_of.partition(".")[2])
        value = float(text_of)
        assert any(abs(round(m, digits) - value) < 1e-9 for m in measured), f"{figure} is not among {measured}"


def test_pictures_of_the_readme_are_light_and_come_from_an_example():
    for picture in re.findall(r"\]\((docs/images/[^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / picture).stat().st_size < 150_000
        name = Path(picture)
        assert f'"{name.name}"' in (ROOT / "examples" / f"{name.stem}.py").read_text(encoding="utf-8")


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_dependency_has_its_reason():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = project[project.index("\ndependencies = [") : project.index("[project.scripts]")]
    names = re.findall(r'"([A-Za-z][\w-]*)>=', listed)
    assert len(names) > 10
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for name in names:
        assert re.search(rf"\b{name}\b", page), f"{name} is installed and docs/dependencies.md does not say why"


class TestAddingASolver:
    PAGE = ROOT / "docs" / "adding-a-solver.md"

    def test_it_takes_at_most_five_steps(self):
        steps = re.findall(r"^(\d)\. \*\*", self.PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert 1 <= len(steps) <= 5
        assert steps == [str(k) for k in range(1, len(steps) + 1)]

    def test_the_worked_example_does_what_the_page_says(self, registry, capsys):
        """The side of the bisector is that of the nearer mean, before and after an isometry; one class is no error."""
        exec(compile("\n".join(code_blocks(self.PAGE)), "page", "exec"), {"__name__": "page"})
        rng = np.random.default_rng(0)
        y = np.repeat([1.0, -1.0], 15)
        X = lift(rng.normal(size=(30, 2)) + 0.7 * y[:, None])
        L = expm(np.array([[0.0, 1.1, 0.3], [1.1, 0.0, 0.5], [0.3, -0.5, 0.0]]))
        objectives = []
        for points in (X, lift((X @ L.T)[:, 1:])):
            problem = MarginProblem(points, y)
            solution = solve(problem, "bisector")
            plus, minus = (frechet_mean(points[y == side]) for side in (1, -1))
            nearer = np.where(distance(points, plus) < distance(points, minus), 1.0, -1.0)
            np.testing.assert_array_equal(np.sign(problem.margins(solution.w) * y), nearer)
            objectives.append(solution.objective)
        assert objectives[1] == pytest.approx(objectives[0], rel=1e-5)
        assert solve(MarginProblem(X, np.ones(30)), "bisector").objective == pytest.approx(30 / np.sqrt(2.0))


def test_the_commands_of_the_reference_checker_do_what_the_page_says(tmp_path):
    page = (ROOT / "docs" / "what-a-certificate-proves.md").read_text(encoding="utf-8")
    commands = re.findall(r"^(python .*?)\s*(?:#.*)?$", page, flags=re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["-m", "-m", "check.pyz"]
    data = load_karate()
    HyperbolicSVC().fit(data.X, data.y).solutions_[0].certificate.save(tmp_path / "proof.json")
    rows = [",".join([*map(repr, map(float, x)), str(label)]) for x, label in zip(data.X, data.y, strict=True)]
    (tmp_path / "points.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    told = []
    for command in commands:
        words = [sys.executable, *command.split()[1:]]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
        told.append(done.stdout)
    assert told[0] == told[2]
    assert "proof.json: holds for points.csv, 1 against 0, C = 1" in told[0]
