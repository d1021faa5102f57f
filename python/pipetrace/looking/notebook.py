"""How runs, comparisons, advice and plans draw themselves in notebooks, without a network."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any


def page_frame(page: str, height: int = 720) -> str:
    """A whole page of `pipe-trace report`, with its style and scripts, in a frame of its own."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" width="100%" height="{height}" '
        'style="border:1px solid #8884" sandbox="allow-scripts allow-downloads"></iframe>'
    )


def picture(svg: str, width: str = "100%") -> str:
    """A picture that is as wide as the cell, at most."""
    begin = svg.find("<svg")
    return f'<div style="max-width:{width};overflow-x:auto">{svg[begin:]}</div>'


def list_of_advice(advice: Mapping[str, Any]) -> str:
    """What to change in a run, and what it would bring."""
    items = "".join(_advice_item(each) for each in advice.get("advice", []))
    if not items:
        items = "<li>nothing that was tried makes the step shorter</li>"
    step = advice.get("step_wall_ns") or advice["step_ns"]
    return f"<p>The step takes {milliseconds(step)}.</p><ol>{items}</ol>"


def numbered(items: Iterable[tuple[str, str]]) -> str:
    """Sentences, each with what to do."""
    lines = "".join(f"<li>{html.escape(one)}<br>{html.escape(two)}</li>" for one, two in items)
    return f"<ol>{lines}</ol>" if lines else message("no findings")


def _advice_item(each: Mapping[str, Any]) -> str:
    text = (
        f"<b>{html.escape(each['text'])}</b>: the step takes {milliseconds(each['step_ns'])}, "
        f"{100 * each['gain']:.1f} % less"
    )
    in_line = each.get("gain_in_line")
    if in_line is not None and each["gain"] - in_line > each["error"]:
        text += (
            f"; {milliseconds(each['step_in_line_ns'])}, {100 * abs(in_line):.1f} % "
            f"{'more' if in_line < 0 else 'less'}, if the messages of a rank go one after the other"
        )
    options = [option for option in each.get("options", []) if option.get("possible", True)]
    lines = [
        f"{option['framework']}: <code>{html.escape(option['text'])}</code>" for option in options
    ]
    lines += [html.escape(note) for note in each.get("notes", [])]
    if each.get("command"):
        lines.append(f"<code>{html.escape(each['command'])}</code>")
    if not lines:
        return f"<li>{text}</li>"
    return f"<li>{text}<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul></li>"


def table(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A plain table."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def message(text: str) -> str:
    """A line that says why there is nothing to draw."""
    return f"<p>{html.escape(text)}</p>"


def milliseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.1f} ms"
