"""motiond is one import package, which leaves other people's names alone, and installs as such."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]
FOLDERS = ("client", "daemon", "drivers", "formats")
OWN_FILES = {"__init__.py", "local.py", "py.typed", "text.py", "tls.py"}
DATA = {"catalog.yaml", "p.yaml", "x.yaml", "xmdi.xsd"}
IMPORT_ALL = """
import importlib, pkgutil, sys
from pathlib import Path

import motiond
for module in pkgutil.walk_packages(motiond.__path__, "motiond."):
    if not module.name.endswith("__main__") and not module.name.startswith("motiond.drivers.testing"):
        importlib.import_module(module.name)
files = {}
for name, module in sys.modules.items():
    if getattr(module, "__file__", None) and name != "__main__":
        files.setdefault(Path(module.__file__).resolve(), []).append(name)
assert len([name for name in sys.modules if name.startswith("motiond.")]) > 100
print(*(name for names in files.values() if len(names) > 1 for name in names if "motiond" in str(names)))
print(*({"daemon", "drivers", "formats"} & set(sys.modules)))
"""


def test_no_module_is_loaded_under_two_names() -> None:
    command = [sys.executable, "-c", IMPORT_ALL]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (run.returncode, run.stderr, run.stdout.split()) == (0, "", [])


# -- what is built ------------------------------------------------------------------------------------------


def build(target: str, source: Path, folder: Path) -> Path:
    """Build a wheel or an sdist from a folder into another, and return its path."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    done = subprocess.run(
        command, cwd=source, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def files_in(folder: Path) -> set[str]:
    """Return the paths of all files that belong to a folder, relative to it."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {file.as_posix() for file in files if "__pycache__" not in file.parts}


def checksums(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {file.filename: file.CRC for file in archive.infolist()}


def test_the_wheel_holds_every_file_of_the_folders_and_no_other(wheel: Path) -> None:
    modules = {f"motiond/{folder}/{file}" for folder in FOLDERS for file in files_in(ROOT / folder)}
    example = {f"motiond/example/{file}" for file in files_in(ROOT / "config")}
    assert {PurePosixPath(file).name for file in modules if not file.endswith(".py")} >= DATA
    assert "motiond/example/schema.json" in example
    held = set(checksums(wheel))
    information = {file for file in held if PurePosixPath(file).parts[0].endswith(".dist-info")}
    own = {f"motiond/{file}" for file in OWN_FILES}
    plugin = {f"pytest_motiond/{file}" for file in files_in(ROOT / "pytest_motiond")}
    assert held - information == modules | example | own | plugin
    packages = ("motiond", *(f"motiond/{folder}" for folder in FOLDERS), "pytest_motiond")
    assert {f"{package}/py.typed" for package in packages} <= held


def test_the_sdist_holds_every_file_once_and_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = build("sdist", ROOT, tmp_path / "sdist")
    subprocess.run(["tar", "-xf", sdist, "-C", tmp_path], check=True)
    source = tmp_path / sdist.name.removesuffix(".tar.gz")
    assert files_in(source / "motiond") == OWN_FILES
    for folder in FOLDERS:
        assert files_in(source / folder) == files_in(ROOT / folder)
    assert checksums(build("wheel", source, tmp_path / "wheel")) == checksums(wheel)


# -- what is installed --------------------------------------------------------------------------------------


class Environment(NamedTuple):
    """A virtual environment with the wheel, and with everything else that these tests run with."""

    programs: Path
    packages: Path

    def run(self, program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run one of its programs in a folder, where nothing but the environment leads to motiond."""
        variables = {key: value for key, value in os.environ.items() if not key.startswith("PY")}
        return subprocess.run(
            [self.programs / program, *arguments],
            cwd=folder,
            env={**variables, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def test(self, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
        """Run pytest in a folder, with all plugins that installed packages bring.

        It leaves its temporary files there: where they usually lie, it would delete those of earlier runs.
        """
        scope = ("-o", "asyncio_default_fixture_loop_scope=function")
        settings = ("-p", "no:cacheprovider", "--basetemp", str(folder / "basetemp"), *scope)
        return self.run("python", *options, "-m", "pytest", *settings, folder=folder)


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Install the wheel beside python-daemon, whose package is named `daemon`.

    The other packages are links. python-daemon is a copy: a wheel that overwrites it must not spoil the
    original.
    """
    base = tmp_path_factory.mktemp("environment")
    venv.create(base, with_pip=False, symlinks=True)
    paths = sysconfig.get_paths("venv", {"base": str(base), "platbase": str(base)})
    environment = Environment(Path(paths["scripts"]), Path(paths["purelib"]))
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        copy = environment.packages / package.name
        if package.name == "daemon":
            shutil.copytree(package, copy)
        elif "motiond" not in package.name and package.suffix != ".pth" and package.name != "__pycache__":
            copy.symlink_to(package)
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "--python", str(environment.programs / "python")]
    subprocess.run([*pip, "install", *options, str(wheel)], timeout=PATIENCE_S, check=True)
    return environment


def test_motiond_and_python_daemon_work_in_one_environment(installed: Environment, tmp_path: Path) -> None:
    source = "import daemon; from motiond import daemon as ours; print(daemon.__file__, ours.__file__)"
    imported = installed.run("python", "-c", f"{source}; daemon.DaemonContext", folder=tmp_path)
    assert (imported.returncode, imported.stderr) == (0, "")
    theirs, ours = installed.packages / "daemon", installed.packages / "motiond" / "daemon"
    assert imported.stdout.split() == [f"{theirs}/__init__.py", f"{ours}/__init__.py"]
    told = installed.run("motiond", "--help", folder=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    assert "Usage: motiond" in told.stdout
    laid = installed.run("motiond", "config", "example", "arm", folder=tmp_path)
    assert (laid.returncode, laid.stderr) == (0, "")
    demo = tmp_path / "arm" / "motiond.yaml"
    (schema,) = re.findall(r"^# yaml-language-server: \$schema=(.*)$", demo.read_text(), re.MULTILINE)
    assert json.loads((demo.parent / schema).read_text())["title"] == "motiond configuration"
    checked = installed.run("motiond", "check", "--config", str(demo), folder=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_example_is_found_where_pip_was_told_to_put_it(wheel: Path, tmp_path: Path) -> None:
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "install", *options, "--target", str(tmp_path), str(wheel)]
    subprocess.run(pip, timeout=PATIENCE_S, check=True)
    found = subprocess.run(
        [sys.executable, "-m", "motiond.daemon.cli", "demo", "--config-path"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    demo = tmp_path / "motiond" / "example" / "demo.yaml"
    assert (found.stdout, found.stderr, demo.is_file()) == (f"{demo.resolve()}\n", "", True)


TYPED = """
from pathlib import Path

import motiond.client
from motiond.daemon.config.settings import load_settings
from motiond.drivers import Driver
from motiond.formats import load_motions
from pytest_motiond import MotiondRobot

def test_robot(motiond_robot: MotiondRobot) -> None:
    played: motiond.client.Result = motiond_robot.play("wave")
    reveal_type(played.code)
    reveal_type(motiond_robot.feedback().of("elbow").names)
    reveal_type(load_settings(Path("arm.yaml")).robots)
    reveal_type(Driver.write)
    reveal_type(load_motions(Path("wave.seq")))
    motiond.client.sync.connect().robot(1)
"""


def test_a_type_checker_reads_the_types_of_every_public_package(
    installed: Environment, tmp_path: Path
) -> None:
    (tmp_path / "test_typed.py").write_text(TYPED)
    command = ("-m", "mypy", "--strict", "--no-error-summary", "test_typed.py")
    checked = installed.run("python", *command, folder=tmp_path)
    revealed = (
        "str",
        "tuple[str, ...]",
        "dict[str, motiond.daemon.config.robot.RobotSettings]",
        "def (self: motiond.drivers.base.Driver, command: motiond.drivers.base.ActuatorCommand)",
        "list[motiond.formats.model.motion.Motion]",
    )
    told = [f'note: Revealed type is "{one}"' for one in revealed]
    wrong = 'Argument 1 to "robot" of "Daemon" has incompatible type "int"; expected "str"'
    expected = enumerate([*told, f"error: {wrong}  [arg-type]"], 12)
    assert checked.stderr == ""
    assert checked.stdout.splitlines() == [f"test_typed.py:{line}: {one}" for line, one in expected]


OWN_PACKAGES = """
import drivers.testing
import formats

def test_own_packages():
    assert (drivers.testing.OWNER, formats.OWNER) == ("the project", "the project")

def test_robot(motiond_robot):
    assert motiond_robot.play("wave").motion == "wave"
    test_own_packages()
"""


def test_a_project_tests_its_own_drivers_and_formats(installed: Environment, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "robot-tests", tmp_path, dirs_exist_ok=True)
    (tmp_path / "test_arm.py").unlink()
    (tmp_path / "drivers").mkdir()
    (tmp_path / "formats").mkdir()
    (tmp_path / "drivers" / "__init__.py").touch()
    for module in ("drivers/testing.py", "formats/__init__.py"):
        (tmp_path / module).write_text('OWNER = "the project"\n')
    (tmp_path / "test_here.py").write_text(OWN_PACKAGES)
    done = installed.test(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 2 passed" in done.stdout


def test_a_test_run_loads_nothing_of_motiond_unasked(installed: Environment, tmp_path: Path) -> None:
    (tmp_path / "test_here.py").write_text("def test_here(): pass\n")
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure(): print('loaded:', *(name for name in sys.modules if 'motiond' in name))\n"
    )
    done = installed.test(tmp_path, "-X", "importtime")
    assert " 1 passed" in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded: pytest_motiond"
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "_pytest.config" in imported
    assert {name for name in imported if "motiond" in name} <= {"pytest_motiond"}


def test_the_plugin_by_itself_imports_pytest_and_the_standard_library_alone(
    installed: Environment, tmp_path: Path
) -> None:
    source = "import sys, pytest; had = {*sys.modules}; import pytest_motiond; print(*{*sys.modules} - had)"
    imported = installed.run("python", "-c", source, folder=tmp_path)
    packages = {name.partition(".")[0] for name in imported.stdout.split()}
    assert packages - sys.stdlib_module_names == {"pytest_motiond"}, imported.stderr
