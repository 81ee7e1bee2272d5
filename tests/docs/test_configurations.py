"""Every configuration on a page is one that motiond takes, with its robots, joints and drivers."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.config.settings import load_settings
from motiond.daemon.joints.description import make_joint_map
from motiond.drivers.registry import make_driver
from tests.docs.bases import whole
from tests.docs.blocks import CHECKOUT, PAGES, Block, blocks_of

if TYPE_CHECKING:
    from pathlib import Path

FILES = CHECKOUT / "tests" / "files" / "docs"
SHOWN = [
    block
    for page in PAGES
    for block in blocks_of(page)
    if block.language == "yaml" and not block.told("not a configuration")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Have the files that configurations on pages name."""
    folder = tmp_path_factory.mktemp("robot")
    shutil.copytree(CHECKOUT / "config" / "motions", folder / "motions")
    (folder / "robots").mkdir()
    for place in (folder, folder / "robots"):
        shutil.copy(CHECKOUT / "config" / "robots" / "six_axis.hrdf", place)
    for name, source in {"page.pem": "broker.crt", "page.key": "broker.key"}.items():
        shutil.copy(FILES.parent / "good" / source, folder / name)
    shutil.copytree(FILES / "robot", folder, dirs_exist_ok=True)
    return folder


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.where)
def test_a_configuration_on_a_page_is_taken(block: Block, folder: Path) -> None:
    file = folder / "motiond.yaml"
    file.write_text(whole(block), encoding="utf-8")
    settings = load_settings(file)
    for name, robot in settings.robots.items():
        joint_map = make_joint_map(name, robot, settings)
        driver = make_driver(robot.driver.type, robot.driver.options, joint_map.actuators)
        assert driver.actuators == tuple(joint_map.actuators)
