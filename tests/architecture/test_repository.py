"""Nothing in the repository depends on the machine it was written on."""

import re
from pathlib import Path

from .repository import ROOT, name_of, repository_files

# Folders of people and of build machines. In brackets, so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![\w/.])/(?:[r]oot|[w]ork|[h]ome/[a-z]\w*|[U]sers/\w+)/(?!\{)")
INDEX_OPTION = re.compile(r"--(?:extra-)?index-url|--find-links|--trusted-host|\bregistry\s*=\s*https?:")
ADDRESS = re.compile(r"\w+://|\bgit@")
LOCKED = re.compile(r"requirements/.*\.txt|.*\.lock|.*lock\.(json|ya?ml)|(.*/)?(\.npmrc|pip\.conf|uv\.toml)")


def texts() -> dict[str, str]:
    found = {}
    for file in repository_files():
        try:
            found[name_of(file)] = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
    return found


def test_no_file_names_a_path_of_a_machine() -> None:
    assert {name: hit[0] for name, text in texts().items() if (hit := MACHINE_PATH.search(text))} == {}


def test_no_file_chooses_where_packages_come_from() -> None:
    here = name_of(Path(__file__))
    choosing = {
        name: hit[0] for name, text in texts().items() if name != here and (hit := INDEX_OPTION.search(text))
    }
    assert choosing == {}


def test_pinned_dependencies_hold_names_and_versions_only() -> None:
    locked = {name: text for name, text in texts().items() if LOCKED.fullmatch(name)}
    assert {"requirements/shoal.txt", "requirements/dev.txt"} <= locked.keys()
    assert {name: hit[0] for name, text in locked.items() if (hit := ADDRESS.search(text))} == {}


def test_what_looks_like_a_machine_path_is_found() -> None:
    for folder in ("root", "home/ann"):
        assert MACHINE_PATH.search(f'"/{folder}/x"')
    assert not MACHINE_PATH.search("src/home/ann/")
    assert (ROOT / "pyproject.toml").is_file()
