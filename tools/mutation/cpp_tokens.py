"""Cuts C++ into tokens, without comments and lines of the preprocessor."""

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""
    (?P<skip> \s+ | //[^\n]* | /\*.*?\*/ | (?:(?<=\n)|\A)[ \t]*\#(?:[^\n\\]|\\.)* )
  | (?P<string> (?:u8|[uUL])?R"(?P<delimiter>[^()\s"]*)\(.*?\)(?P=delimiter)"
              | (?:u8|[uUL])?"(?:[^"\\\n]|\\.)*" )
  | (?P<number> \.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])* )
  | (?P<char> (?:u8|[uUL])?'(?:[^'\\\n]|\\.)+' )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<op> <=> | <<= | >>= | ->\* | \.\.\. | -> | :: | \+\+ | -- | && | \|\| | <= | >= | == | !=
          | << | >> | [-+*/%&|^]= | . )
    """,
    re.X | re.S)
OPENING = {"(": ")", "[": "]", "{": "}"}
TYPES = ("class", "struct", "union", "enum", "namespace")


@dataclass(frozen=True)
class Token:
    kind: str  # string, number, char, word or op
    text: str
    begin: int
    end: int
    spaced: bool  # blanks on both sides, as clang-format puts around binary operators


def tokens_of(text):
    found = [m for m in TOKEN.finditer(text) if m.lastgroup and not m["skip"]]
    tokens = []
    for match in found:
        begin, end = match.span()
        blank = text[begin - 1:begin].isspace() and text[end:end + 1].isspace()
        kind = next(k for k in ("string", "number", "char", "word", "op") if match[k] is not None)
        tokens.append(Token(kind, match[0], begin, end, blank))
    return tokens


def matching_brackets(tokens):
    """Index of the closing bracket by that of the opening one, and back."""
    partner, open_ones = {}, []
    for index, token in enumerate(tokens):
        if token.kind != "op":
            continue
        if token.text in OPENING:
            open_ones.append(index)
        elif open_ones and token.text == OPENING[tokens[open_ones[-1]].text]:
            partner[index] = open_ones.pop()
            partner[partner[index]] = index
    return partner


def words_before(tokens, brace):
    """The tokens from the last statement to the brace at the index `brace`."""
    first = brace
    while first > 0 and tokens[first - 1].text not in (";", "{", "}"):
        first -= 1
    return tokens[first:brace]


def opens_type(tokens, brace):
    """Whether the brace at this index is that of a type or a namespace."""
    head = words_before(tokens, brace)
    return any(token.text in TYPES and (not before or before[-1].text not in ("<", ","))
               for token, before in ((t, head[:i]) for i, t in enumerate(head)))


def inside_functions(tokens):
    """For each token, whether the innermost brace around it is not that of a type or namespace."""
    inside, braces = [], []
    for index, token in enumerate(tokens):
        inside.append(bool(braces) and braces[-1])
        if token.text == "{":
            braces.append(not opens_type(tokens, index))
        elif token.text == "}" and braces:
            braces.pop()
    return inside
