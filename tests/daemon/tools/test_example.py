"""The example to begin with: laid down whole, never over what is there, and playable as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from motiond.daemon.tools import example
from tests.daemon.programs import run_here

if TYPE_CHECKING:
    import pytest

CONFIG = Path(__file__).parents[3] / "config"
FILES = {
    "motiond.yaml": "demo.yaml",
    "schema.json": "schema.json",
    "robots/six_axis.hrdf": "robots/six_axis.hrdf",
    "motions/nod.seq": "motions/nod.seq",
    "motions/stretch.seq": "motions/stretch.seq",
    "motions/wave.markers.yaml": "motions/wave.markers.yaml",
    "motions/wave.seq": "motions/wave.seq",
}


def content(folder: Path) -> dict[str, bytes]:
    """Return what each file below a folder holds."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


EXAMPLE = {name: (CONFIG / source).read_bytes() for name, source in FILES.items()}
SO101 = {
    "motiond.yaml": "so101.yaml",
    "schema.json": "schema.json",
    "robots/so101.urdf": "robots/so101.urdf",
    "motions/so101/greet.seq": "motions/so101/greet.seq",
}


def test_the_example_is_laid_down_in_a_new_folder_and_can_be_played(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "robots of mine" / "arm"
    code, out, err = run_here(capsys, "config", "example", folder)
    assert (code, err) == (0, "")
    *written, hint = out.splitlines()
    assert sorted(written) == sorted(str(folder / name) for name in FILES)
    assert hint == f"Try it: motiond check -c '{folder}/motiond.yaml'"
    assert content(folder) == EXAMPLE
    code, out, err = run_here(capsys, "check", "-c", folder / "motiond.yaml")
    assert (code, err) == (0, "")
    assert [line.split("; ")[0] for line in out.splitlines()] == [
        "arm: nod: ok",
        "arm: stretch: ok",
        "arm: wave: ok",
    ]


def test_another_example_is_laid_down_by_its_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "arm"
    code, out, err = run_here(capsys, "config", "example", "so101", folder)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        *(str(folder / name) for name in SO101),
        f"Try it: motiond check -c {folder}/motiond.yaml",
    ]
    assert content(folder) == {name: (CONFIG / source).read_bytes() for name, source in SO101.items()}
    code, out, err = run_here(capsys, "check", "-c", folder / "motiond.yaml")
    assert (code, out, err) == (0, "so101: greet: ok; 9 s, speed up to 2.03\n", "")


def test_an_example_is_laid_down_where_one_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_here(capsys, "config", "example", "so101")[0] == 0
    assert content(tmp_path).keys() == SO101.keys()


def test_an_example_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run_here(capsys, "config", "example", "so100", tmp_path)
    assert (code, out) == (2, "")
    assert err == (
        "motiond: invalid value for NAME: there is no example 'so100'; there are demo, so101; "
        "see `motiond --help`\n"
    )
    assert content(tmp_path) == {}


def test_what_is_there_already_is_named_and_left_as_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "motions").mkdir()
    mine = {"motiond.yaml": b"robots: {}\n", "motions/wave.seq": b"mine"}
    for name, text in mine.items():
        (tmp_path / name).write_bytes(text)
    (tmp_path / "schema.json").symlink_to("not there")
    code, out, err = run_here(capsys, "config", "example", tmp_path)
    reason = "exists already; nothing was written; name another folder, or --force it"
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"{tmp_path}/motiond.yaml: {reason}",
        f"{tmp_path}/schema.json: {reason}",
        f"{tmp_path}/motions/wave.seq: {reason}",
    ]
    assert content(tmp_path) == mine


def test_force_replaces_the_examples_files_and_no_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "motiond.yaml").write_text("robots: {}\n")
    (tmp_path / "mine.yaml").write_text("mine")
    code, _, err = run_here(capsys, "config", "example", tmp_path, "--force")
    assert (code, err) == (0, "")
    assert content(tmp_path) == {**EXAMPLE, "mine.yaml": b"mine"}


def test_a_folder_that_cannot_be_made_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told = f"{tmp_path}/file/arm: cannot be made; Not a directory; check the path\n"
    assert run_here(capsys, "config", "example", tmp_path / "file" / "arm") == (2, "", told)


def test_the_schema_is_written_for_editors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(capsys, "config", "schema") == (0, EXAMPLE["schema.json"].decode(), "")


def test_a_package_without_its_example_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example, "files", {"motiond": tmp_path}.__getitem__)
    told = (
        f"{tmp_path}/example/demo.yaml: is not there; motiond was installed without its data files; "
        "install the wheel\n"
    )
    assert run_here(capsys, "demo", "--config-path") == (2, "", told)
    assert run_here(capsys, "config", "example", tmp_path / "arm") == (2, "", told)
    assert not (tmp_path / "arm").exists()
