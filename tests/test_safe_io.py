"""Files that cannot hurt: whatever a file holds, it is read, or one error names it and says what is wrong."""

import io
import json
import resource
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

from file_damage import damaged_archive, damaged_bytes, damaged_value, npy_bytes
from hypermargin import HyperbolicSVC, MarginProblem, solve
from hypermargin.certificates import Certificate, CertificateError
from hypermargin.cli.main import main
from hypermargin.estimators import load_model, save_model
from hypermargin.problems import GeodesicBall
from hypermargin.safe_io import FileError
from reference.instances import make_instance

SEPARABLE, OVERLAPPING = (make_instance(family, d=2, n=10, C=1.0, seed=3) for family in ("separable", "overlap"))
PROBLEMS = {
    "soft margin": MarginProblem(OVERLAPPING.X, OVERLAPPING.y),
    "weights": MarginProblem(OVERLAPPING.X, OVERLAPPING.y, sample_weight=np.linspace(0.5, 2.0, 10)),
    "robust": MarginProblem(OVERLAPPING.X, OVERLAPPING.y, uncertainty=GeodesicBall(0.1)),
    "hard margin": MarginProblem(SEPARABLE.X, SEPARABLE.y, C=np.inf),
    "overlap": MarginProblem(OVERLAPPING.X, OVERLAPPING.y, C=np.inf),
    "robust overlap": MarginProblem(SEPARABLE.X, SEPARABLE.y, C=np.inf, uncertainty=GeodesicBall(3.0)),
}
FEW, MANY = (500, 1_000), (5_000, 20_000)
amounts = pytest.mark.parametrize("amount", [0, pytest.param(1, marks=pytest.mark.slow)], ids=["few", "many"])


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.npz"
    labels = np.where(OVERLAPPING.y > 0, "one", "two")
    labels[:3] = "three"
    model = HyperbolicSVC(class_weight={"one": 2.0}, uncertainty=GeodesicBall(0.05))
    save_model(model.fit(OVERLAPPING.X, labels), path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def proofs():
    return {name: solve(problem).certificate for name, problem in PROBLEMS.items()}


def names_the_file(error, path):
    """Whether an error is one line that begins with the name; every other one counts as no refusal."""
    return str(error).startswith(str(path)) and "\n" not in str(error)


@amounts
def test_a_damaged_model_is_read_or_refused_by_name(model_bytes, amount, tmp_path):
    path, refused, loaded = tmp_path / "model.npz", 0, 0
    for seed in range((FEW, MANY)[amount][0]):
        rng = np.random.default_rng(seed)
        path.write_bytes((damaged_bytes if seed % 2 else damaged_archive)(model_bytes, rng))
        try:
            model = load_model(path)
        except FileError as error:
            refused += names_the_file(error, path)
        else:
            loaded += 1
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.predict(OVERLAPPING.X)
            except (ValueError, TypeError):
                pass  # parameters such as the geometry are the model's own affair, and are checked when they are used
    assert refused + loaded == seed + 1
    assert refused > seed / 2


@amounts
def test_a_damaged_certificate_proves_nothing_false(proofs, amount, tmp_path):
    path, names = tmp_path / "proof.json", list(PROBLEMS)
    objectives = {name: solve(problem).objective for name, problem in PROBLEMS.items()}
    refused = proved = loaded = 0
    for seed in range((FEW, MANY)[amount][1]):
        rng = np.random.default_rng(seed)
        name = names[seed % len(names)]
        plain = proofs[name].to_dict()
        if seed % 3:
            plain.pop("statement", None)  # its fingerprints would tell most damages
        if seed % 5:
            path.write_text(json.dumps(damaged_value(plain, rng)))
        else:
            path.write_bytes(damaged_bytes(json.dumps(plain).encode(), rng))
        try:
            certificate = Certificate.load(path)
        except FileError as error:
            refused += names_the_file(error, path) and isinstance(error, CertificateError)
            continue
        loaded += 1
        try:
            bound = certificate.verify(PROBLEMS[name])
        except CertificateError:
            continue
        assert bound <= objectives[name] * (1.0 + 1e-9) or objectives[name] == np.inf, (seed, bound)
        proved += 1
    assert refused + loaded == seed + 1
    assert refused > seed / 4
    assert proved > seed / 40


def crafted(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def declaring(shape):
    """A .npy file of eight bytes whose header declares another shape."""
    return npy_bytes(np.zeros(1)).replace(b"(1,)", repr(shape).encode().ljust(4))


def text_member(text):
    return crafted({"header.npy": npy_bytes(np.frombuffer(text, np.uint8))})


HEADER = {"format": "hypermargin-model", "version": 2, "class": "HyperbolicSVC"}


def copies(item, values):
    """A model whose classes are a thousand times the same array."""
    start = json.dumps({**HEADER, "parameters": {"dict": []}}).encode().removesuffix(b"}")
    text = start + b', "classes": {"list": [' + b", ".join([item] * 1000) + b']}, "fitted": {"dict": []}}'
    return crafted({"header.npy": npy_bytes(np.frombuffer(text, np.uint8)), "values_f8.npy": values})


OBJECTS = str({"descr": "|O", "fortran_order": False, "shape": (1,)}).encode().ljust(117)
CRAFTED_MODELS = {
    "80 TB": (crafted({"header.npy": declaring((10**13,))}), "size it declares"),
    "negative": (crafted({"header.npy": declaring((-1,))}), "size it declares|damaged"),
    "300 MB of zeros": (crafted({"header.npy": npy_bytes(np.zeros(300 * 2**20, dtype=np.uint8))}), "unpacks to"),
    "deep JSON": (text_member(b"[" * 10**6), "more than 64 deep"),
    "long integer": (text_member(b"9" * 5000), "integer of 5000 digits"),
    "objects": (crafted({"header.npy": b"\x93NUMPY\x01\x00v\x00" + OBJECTS + b"\n"}), "can run code|damaged"),
    "one array many times": (
        copies(b'{"array": ["f8", 0, [1000, 1000]]}', npy_bytes(np.zeros(10**6))),
        "more than is stored",
    ),
    "one old array many times": (copies(b'{"array": "values_f8"}', npy_bytes(np.zeros(10**6))), "used twice"),
    "negative shapes": (copies(b'{"array": ["f8", 0, [-1000, -1000]]}', npy_bytes(np.zeros(10**6))), "than is stored"),
    "no model": (text_member(json.dumps(HEADER).encode()), "but it is damaged: .*missing"),
    "another archive": (crafted({"letter.txt": b"hello"}), "no member 'header'"),
}


@pytest.mark.parametrize("name", CRAFTED_MODELS)
def test_a_crafted_model_takes_no_memory(name, tmp_path):
    content, message = CRAFTED_MODELS[name]
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    with pytest.raises(FileError, match=message) as caught:
        load_model(path)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**17  # kilobytes
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 10**6, "more than 64 deep"),
        ('{"format": "hypermargin-certificate-1", "x": ' + "{" * 80 + "}" * 80 + "}", "is not a certificate file"),
        ('{"format": ' + "9" * 5000 + "}", "integer of 5000 digits"),
        ('{"format": "hypermargin-certificate-1"}', "damaged"),
        ('{"format": {}}', "not a certificate in the format"),
        ("\ud800".encode("utf-16", "surrogatepass"), "is not a certificate file"),
        ("", "is not a certificate file"),
        ("[1, 2", "is not a certificate file"),
    ],
)  # fmt: skip
def test_a_crafted_certificate_is_told(text, message, tmp_path):
    path = tmp_path / "proof.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError, match=message) as caught:
        Certificate.load(path)
    assert str(caught.value).startswith(str(path))


def test_brackets_within_strings_are_not_nesting(proofs, tmp_path):
    plain = proofs["soft margin"].to_dict()
    plain["remark"] = '\\"[' * 100 + "\\\\"
    (tmp_path / "proof.json").write_text(json.dumps(plain))
    assert Certificate.load(tmp_path / "proof.json").to_dict() == proofs["soft margin"].to_dict()


def test_corners_that_are_no_lists_are_told(tmp_path):
    degenerate = make_instance("surrounded", d=2, n=12, C=1.0, seed=5)
    plain = solve(MarginProblem(degenerate.X, degenerate.y)).certificate.to_dict()
    boxed = [region for region in plain["regions"] if region["box"] is not None]
    boxed[0]["box"][2] = 1.0
    with pytest.raises(CertificateError, match=r"1\.0 stands where numbers in a list should be"):
        Certificate.from_dict(plain)


@pytest.mark.parametrize("content", [declaring((10**13,)), crafted({"X.npy": declaring((10**13, 3))}), b"PK\x03\x04"])
def test_the_command_line_names_the_file(content, tmp_path, capsys):
    points, model = tmp_path / ("points.npz" if content[:2] == b"PK" else "points.npy"), tmp_path / "model.npz"
    points.write_bytes(content)
    model.write_bytes(content)
    labels = tmp_path / "labels.csv"
    labels.write_text("1\n2\n")
    for arguments in (
        ["fit", str(points), "--labels", str(labels), "--output", str(tmp_path / "new.npz")],
        ["predict", str(model), str(points)],
    ):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert arguments[1] in said
