"""Files from outside are data: none is ever run, none is unpickled, none makes us read another file."""

from __future__ import annotations

import ast
import io
import json
import pickle
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from broken import write_good

import vastsum
from vastsum import assets
from vastsum.errors import CheckpointError, DataError, VastsumError
from vastsum.features.onnx_model import MAX_MODEL_BYTES, read_model

h5py = pytest.importorskip("h5py", reason="benchmark files are HDF5")
onnx = pytest.importorskip("onnx", reason="the models of these tests are written with onnx")
torch = pytest.importorskip("torch", reason="checkpoints are read by torch")

SOURCE = Path(vastsum.__file__).parent

# --- What the source says ---------------------------------------------------------------------------------------------

# Modules that make objects, and so calls, out of bytes. (multiprocessing does too, between our own processes.)
UNTRUSTWORTHY = {
    "pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "jsonpickle", "marshal", "shelve", "yaml",
}  # fmt: skip
RUNNING_TEXT = {"eval", "exec", "compile", "__import__"}
UNPICKLING = {("torch", "load"), ("pandas", "read_pickle"), ("pd", "read_pickle")}


def offences(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"imports {name.name}" for name in node.names if name.name.split(".")[0] in UNTRUSTWORTHY)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in UNTRUSTWORTHY:
            yield f"imports from {node.module}"
        elif isinstance(node, ast.Call):
            yield from call_offences(node)


def call_offences(call: ast.Call) -> Iterator[str]:
    match call.func:
        case ast.Name(id=name) if name in RUNNING_TEXT:
            yield f"calls {name}"
        case ast.Attribute(value=ast.Name(id=module), attr=name) if (module, name) in UNPICKLING:
            yield f"calls {module}.{name}"
        case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="load"):
            given = {keyword.arg: getattr(keyword.value, "value", None) for keyword in call.keywords}
            if given.get("allow_pickle") is not False:
                yield "calls np.load without allow_pickle=False"
    if any(keyword.arg == "weights_only" or _allows_pickle(keyword) for keyword in call.keywords):
        yield "asks for an unpickler"


def _allows_pickle(keyword: ast.keyword) -> bool:
    return keyword.arg == "allow_pickle" and getattr(keyword.value, "value", None) is not False


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_in_the_source_unpickles_or_runs_text(path: Path) -> None:
    assert not list(offences(ast.parse(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(
    "text",
    ["import pickle", "from joblib import load", "import yaml.loader", "torch.load(p, weights_only=True)", "eval(x)",
     "np.load(p)", "np.load(p, allow_pickle=True)", "np.load(p, allow_pickle=flag)", "pd.read_pickle(p)",
     "f(p, allow_pickle=True)"],
)  # fmt: skip
def test_the_search_would_find_it(text: str) -> None:
    assert list(offences(ast.parse(text)))


# --- What happens with a file that wants to be unpickled --------------------------------------------------------------


class Bomb:
    """Unpickled anywhere, it leaves a file behind."""

    def __init__(self, crater: Path) -> None:
        self.crater = crater

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.crater,)


# Python itself tells of every name that any unpickler looks up, by whatever road it is reached. Who listens must be a
# function of C's. One of Python's lets other threads on; those that set a trace meanwhile, as coverage has every thread
# do, are refused it by Python 3.11, and die as they start.
_heard: dict[str, tuple[object, ...]] = {}
sys.addaudithook(_heard.setdefault)
UNPICKLED = "pickle.find_class"


@contextmanager
def unpickled_names() -> Iterator[list[str]]:
    """The first one, if any is looked up."""
    names: list[str] = []
    _heard.pop(UNPICKLED, None)
    try:
        yield names
    finally:
        names += [".".join(map(str, _heard[UNPICKLED]))] if UNPICKLED in _heard else []


def read_run(path: Path) -> object:
    from vastsum.bench.runs import load_run

    folder = path.parent / "run"
    folder.mkdir()
    shutil.copy(path, folder / "bench.json")
    return load_run(folder)


def read_part(path: Path) -> object:
    """What `vastsum prepare` keeps beside its output, and finds again."""
    from vastsum.bench.data.prepare import _Parts

    parts = _Parts(path.parent / "out.h5", {})
    shutil.copy(path, parts._path("a"))
    return parts.load("a")


def read_manifest(path: Path) -> object:
    """A list of videos; what it may have been taken for is then looked at as a video."""
    from vastsum.jobs.inputs import find_items
    from vastsum.video import probe

    return [probe(Path(item.source)) for item in find_items([str(path)])]


def readers() -> dict[str, Callable[[Path], object]]:
    from vastsum.bench.checkpoints import load_tensors
    from vastsum.bench.data import load_dataset
    from vastsum.bench.data.annotations import read_annotations
    from vastsum.bench.data.scores_tsv import read_scores_tsv
    from vastsum.bench.data.splits import read_split_file
    from vastsum.bench.methods.csta import read_imagenet
    from vastsum.bench.methods.recipes import load_config
    from vastsum.scoring.onnx_scorer import load_scorer
    from vastsum.video import probe

    return {
        "video.mp4": probe,
        "summary.json": vastsum.Summary.load,
        "benchmark.h5": load_dataset,
        "scores.tsv": lambda path: read_scores_tsv(path, {"video_1": "a"}),
        "splits.json": read_split_file,
        "people.csv": read_annotations,
        "people.json": read_annotations,
        "settings.toml": load_config,
        "best.safetensors": load_tensors,
        "googlenet.safetensors": read_imagenet,
        "model.onnx": load_scorer,
        "bench.json": read_run,
        "list.csv": read_manifest,
        "list.jsonl": read_manifest,
        "list.parquet": read_manifest,
        "part.npz": read_part,
    }


def pickled(bomb: Bomb) -> bytes:
    return pickle.dumps(bomb)


def pickled_as_text(bomb: Bomb) -> bytes:
    return pickle.dumps(bomb, protocol=0)


def saved_by_torch(bomb: Bomb) -> bytes:
    buffer = io.BytesIO()
    torch.save({"weights": bomb}, buffer)
    return buffer.getvalue()


def array_of_objects(bomb: Bomb) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([bomb], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def arrays_of_objects(bomb: Bomb) -> bytes:
    """An .npz with every name that a part has, and a bomb in each."""
    buffer = io.BytesIO()
    names = ["stamp", "features", "picks", "bounds", "pts", "time_base", "last_frame_duration", "keyframes", "warnings"]
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(f"{name}.npy", array_of_objects(bomb))
    return buffer.getvalue()


DISGUISES = [pickled, pickled_as_text, saved_by_torch, array_of_objects, arrays_of_objects]


@pytest.mark.parametrize("disguise", DISGUISES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", list(readers()))
def test_a_pickle_under_any_name_is_refused_unopened(
    name: str, disguise: Callable[[Bomb], bytes], tmp_path: Path
) -> None:
    crater, path = tmp_path / "crater", tmp_path / name
    path.write_bytes(disguise(Bomb(crater)))
    with unpickled_names() as names, pytest.raises(VastsumError, match=r"part" if name == "part.npz" else path.name):
        readers()[name](path)
    assert not names
    assert not crater.exists()


def test_the_bombs_work_and_are_heard(tmp_path: Path) -> None:
    with unpickled_names() as names:
        pickle.loads(pickled(Bomb(tmp_path / "crater")))
        np.load(io.BytesIO(array_of_objects(Bomb(tmp_path / "second"))), allow_pickle=True)
    assert (tmp_path / "crater").exists()
    assert (tmp_path / "second").exists()
    assert names


@pytest.mark.parametrize("key", ["features", "picks", "n_frames", "change_points", "user_summary", "user_scores"])
@pytest.mark.parametrize("kind", ["text", "opaque", "reference", "compound", "ragged", "complex", "empty"])
def test_odd_types_in_a_benchmark_file_are_named(key: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.h5"
    write_good(path)
    bomb = pickled(Bomb(tmp_path / "crater"))
    with h5py.File(path, "a") as file:
        group = file["video_1"]
        del group[key]
        if kind == "text":
            group.create_dataset(key, data=[bomb.hex()] * 3, dtype=h5py.string_dtype())
        elif kind == "opaque":
            group[key] = np.void(bomb)
        elif kind == "reference":
            group.create_dataset(key, data=[group.ref, file.ref], dtype=h5py.ref_dtype)
        elif kind == "compound":
            group[key] = np.zeros(3, dtype=[("a", "i4"), ("b", "f4")])
        elif kind == "ragged":
            ragged = group.create_dataset(key, (2,), dtype=h5py.vlen_dtype(np.uint8))
            ragged[0] = np.frombuffer(bomb, np.uint8)
        elif kind == "complex":
            group[key] = np.ones((2, 2), dtype=np.complex64)
        else:
            group[key] = h5py.Empty("f4")
    with unpickled_names() as names, pytest.raises(DataError, match=key):
        readers()["benchmark.h5"](path)
    assert not names
    assert not (tmp_path / "crater").exists()


# --- Files that name other files --------------------------------------------------------------------------------------


def link_to_another_file(file: Any, other: Path) -> None:
    file["video_1"] = h5py.ExternalLink(str(other), "/video_1")


def link_by_way_of_a_deeper_one(file: Any, other: Path) -> None:
    file.create_group("a/b")["c"] = h5py.ExternalLink(str(other), "/video_1")
    file["video_1"] = h5py.SoftLink("/a/b/c")


def numbers_kept_elsewhere(file: Any, other: Path) -> None:
    place = [(str(other), 0, h5py.h5f.UNLIMITED)]
    file.create_group("video_1").create_dataset("features", shape=(6, 4), dtype="f4", external=place)


def virtual_numbers(file: Any, other: Path) -> None:
    layout = h5py.VirtualLayout(shape=(6, 4), dtype="f4")
    layout[:] = h5py.VirtualSource(str(other), "video_1/features", shape=(6, 4))
    file.create_group("video_1").create_virtual_dataset("features", layout)


@pytest.mark.parametrize(
    "name_other",
    [link_to_another_file, link_by_way_of_a_deeper_one, numbers_kept_elsewhere, virtual_numbers],
    ids=lambda function: function.__name__,
)
def test_a_benchmark_file_cannot_have_another_file_read(name_other: Callable[..., None], tmp_path: Path) -> None:
    other, path = tmp_path / "other.h5", tmp_path / "cunning.h5"
    write_good(other)
    with h5py.File(path, "w") as file:
        name_other(file, other)
    with pytest.raises(DataError, match=r"cunning.h5: /video_1.* (only a link|in other files)"):
        readers()["benchmark.h5"](path)


@pytest.mark.parametrize(
    "address",
    [
        "reference://a.mp4::http://127.0.0.1/references.json",
        "simplecache::http://127.0.0.1/a.mp4",
        "zip://a.mp4::file:///tmp/archive.zip",
        "http://127.0.0.1/a.mp4::reference://",
        "python://os",
        "dask://a.mp4",
    ],
)
def test_a_list_of_videos_cannot_send_us_through_one_address_to_another(address: str, tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="addresses are read by fsspec")
    from vastsum.jobs.inputs import find_items
    from vastsum.jobs.places import at_hand

    manifest = tmp_path / "list.jsonl"
    manifest.write_text(json.dumps({"source": address}))
    (item,) = find_items([str(manifest)])
    with pytest.raises(VastsumError, match="no address that is read here"), at_hand(item.source):
        pytest.fail("it was fetched")


def varint(number: int) -> bytes:
    """As protobuf writes lengths."""
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def field(tag: bytes, content: bytes) -> bytes:
    return tag + varint(len(content)) + content


def model_with_weights_elsewhere(tag: bytes, length: bytes, place: bytes) -> bytes:
    """A model whose one tensor lies in the file `place`; the key that says so is written as `tag` and `length` ask."""
    real = onnx.TensorProto.FLOAT
    tensor = onnx.TensorProto(name="w", data_type=real, dims=[12], data_location=onnx.TensorProto.EXTERNAL)
    where = tag + length + b"location" + field(b"\x12", place)
    weights = tensor.SerializeToString() + field(b"\x6a", where)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"])],
        "adding",
        [onnx.helper.make_tensor_value_info("x", real, [12])],
        [onnx.helper.make_tensor_value_info("y", real, [12])],
    )
    model = onnx.ModelProto(ir_version=8, opset_import=[onnx.helper.make_opsetid("", 17)])
    return model.SerializeToString() + field(b"\x3a", graph.SerializeToString() + field(b"\x2a", weights))


# Numbers may be padded, and tags may have bits beyond the 32 that count.
TAGS = [b"\x0a", b"\x8a\x00", b"\x8a\x80\x00", b"\x8a\x80\x80\x80\x00", b"\x8a\x80\x80\x80\x10"]
LENGTHS = [b"\x08", b"\x88\x00", b"\x88\x80\x80\x00", b"\x88\x80\x80\x80\x00"]


@pytest.mark.parametrize("length", LENGTHS, ids=bytes.hex)
@pytest.mark.parametrize("tag", TAGS, ids=bytes.hex)
def test_a_model_cannot_have_another_file_read(
    tag: bytes, length: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vastsum.onnx_runtime import ort

    monkeypatch.chdir(tmp_path)
    Path("secret.bin").write_bytes(np.arange(12, dtype=np.float32).tobytes())
    data = model_with_weights_elsewhere(tag, length, b"secret.bin")
    (read,) = ort.InferenceSession(data).run(None, {"x": np.zeros(12, np.float32)})
    assert read.tolist() == list(range(12)), "ONNX Runtime by itself does read the other file"
    path = tmp_path / "cunning.onnx"
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="keeps its weights in other files"):
        read_model(path)


@pytest.mark.parametrize("place", [b"*/_ORT_MEM_ADDR_/*", b"/etc/passwd", b"../../secret.bin", b"/dev/zero"])
def test_places_that_are_no_files_beside_it_are_refused_too(place: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cunning.onnx"
    path.write_bytes(model_with_weights_elsewhere(b"\x0a", b"\x08", place))
    with pytest.raises(CheckpointError, match="keeps its weights in other files"):
        read_model(path)


def test_weights_within_branches_and_constants_are_seen(tmp_path: Path) -> None:
    """Tensors hide in attributes of nodes and in graphs within graphs."""
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[12], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="secret.bin")
    constant = onnx.helper.make_node("Constant", [], ["y"], value=tensor)
    branch = onnx.helper.make_graph([constant], "branch", [], [onnx.helper.make_tensor_value_info("y", 1, [12])])
    choice = onnx.helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch)
    for name, node in (("constant", constant), ("branch", choice)):
        graph = onnx.helper.make_graph([node], "outer", [], [onnx.helper.make_tensor_value_info("y", 1, [12])])
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
        with pytest.raises(CheckpointError, match="keeps its weights in other files"):
            read_model(path)


def test_a_huge_model_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.onnx"
    with path.open("wb") as file:
        file.truncate(MAX_MODEL_BYTES + 1)  # takes no space on disk, and would take a GiB of memory
    with pytest.raises(CheckpointError, match="too large"):
        read_model(path)


# --- The embedded weights ---------------------------------------------------------------------------------------------


@pytest.fixture
def embedded(tmp_path: Path) -> Path:
    """A copy of the folder of embedded weights, to tamper with."""
    return Path(shutil.copytree(Path(assets.__file__).parent, tmp_path / "assets"))


WEIGHTS = sorted(json.loads((Path(assets.__file__).parent / assets.CHECKSUMS).read_text()))


def test_every_embedded_model_has_a_checksum(embedded: Path) -> None:
    assert {path.name for path in embedded.glob("*.onnx")} <= set(WEIGHTS)
    for name in WEIGHTS:
        assert assets.read_asset(name, embedded) == (embedded / name).read_bytes()


@pytest.mark.parametrize("place", [0, 0.5, -1], ids=["first", "middle", "last"])
@pytest.mark.parametrize("name", WEIGHTS)
def test_one_flipped_bit_is_noticed(embedded: Path, name: str, place: float) -> None:
    data = bytearray((embedded / name).read_bytes())
    data[int(place * len(data)) if place == 0.5 else int(place)] ^= 1
    (embedded / name).write_bytes(data)
    with pytest.raises(CheckpointError, match="damaged; reinstall"):
        assets.read_asset(name, embedded)


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_cut_short_grown_or_exchanged_are_noticed(embedded: Path, name: str) -> None:
    data = (embedded / name).read_bytes()
    other = (embedded / WEIGHTS[WEIGHTS.index(name) - 1]).read_bytes()
    for forged in (b"", data[:-1], data + b"\0", other):
        (embedded / name).write_bytes(forged)
        with pytest.raises(CheckpointError, match="damaged; reinstall"):
            assets.read_asset(name, embedded)


def test_nothing_beside_the_embedded_weights_is_read(embedded: Path) -> None:
    (embedded.parent / "secret").write_text("secret")
    for name in ("../secret", "checksums.json", "__init__.py", str(embedded.parent / "secret")):
        with pytest.raises(CheckpointError, match="missing"):
            assets.read_asset(name, embedded)
