"""The page's files, without a browser."""

from __future__ import annotations

from pathlib import Path


def test_no_file_of_the_page_loads_anything_from_elsewhere() -> None:
    folder = Path(__file__).parents[2] / "clients" / "browser"
    for path in (p for kind in ("html", "js", "css", "svg") for p in folder.glob(f"*.{kind}")):
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
