"""The places of a C++ source that can be changed, and what each can become."""

import re
from dataclasses import dataclass

from .cpp_tokens import inside_functions, matching_brackets, tokens_of

# Binary operators have blanks around them (clang-format), so `<` of a template, `*` of a pointer and
# `&&` of a reference are none.
BINARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
          "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
WORDS = {"true": "false", "false": "true"}
SWAPPED_CALLS = {"min": "max", "max": "min", "min_element": "max_element",
                 "max_element": "min_element", "lower_bound": "upper_bound",
                 "upper_bound": "lower_bound", "any_of": "all_of", "all_of": "any_of"}
# Nothing inside these is changed: what they check, no test has to notice.
UNTOUCHED_CALLS = ("assert", "static_assert", "alignas", "sizeof", "decltype", "noexcept")
# These change how fast something is, and nothing else.
SPEED_ONLY = ("reserve", "shrink_to_fit")
NO_STATEMENT = ("return", "if", "for", "while", "do", "switch", "case", "default", "else", "using",
                "throw", "goto", "break", "continue", "delete", "co_return", "co_yield", "public",
                "private", "protected", "template", "typedef", "static_assert", "assert")
ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "|=", "&=", "%=", "^=", "<<=", ">>=")
INTEGER = re.compile(r"(0|[1-9][\d']*)([uUlLzZ]*)\Z")


@dataclass(frozen=True)
class Place:
    """A piece of a source and the texts that can stand there instead."""
    begin: int
    end: int
    replacements: tuple


class Finder:
    def __init__(self, text):
        self.text = text
        self.tokens = tokens_of(text)
        self.partner = matching_brackets(self.tokens)
        self.in_function = inside_functions(self.tokens)
        self.untouched = self._untouched_tokens()
        self.places = []

    def find(self):
        for index in range(len(self.tokens)):
            if index not in self.untouched:
                self._look_at(index)
        return self.places

    def _untouched_tokens(self):
        untouched = set()
        for index, token in enumerate(self.tokens):
            following = self._text(index + 1)
            if token.text in UNTOUCHED_CALLS and following == "(":
                untouched.update(range(index, self.partner.get(index + 1, index) + 1))
            elif token.text == "[" and following == "[":
                untouched.update(range(index, self.partner.get(index, index) + 1))
            elif token.text == "template" and following == "<":
                untouched.update(range(index, self._end_of_template(index + 1)))
        return untouched

    def _end_of_template(self, index):
        depth = 0
        while index < len(self.tokens):
            text = self.tokens[index].text
            depth += text.count("<") - text.count(">") if text in ("<", ">", ">>") else 0
            index += 1
            if depth <= 0:
                break
        return index

    def _text(self, index):
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def _add(self, first, last, *replacements):
        self.places.append(Place(self.tokens[first].begin, self.tokens[last].end, replacements))

    def _look_at(self, index):
        token = self.tokens[index]
        before, following = self._text(index - 1), self._text(index + 1)
        if token.kind == "number":
            self._integer(index)
        elif token.kind == "word":
            if token.text in WORDS:
                self._add(index, index, WORDS[token.text])
            elif token.text in SWAPPED_CALLS and before == "::" and following == "(":
                self._add(index, index, SWAPPED_CALLS[token.text])
            elif token.text == "if" and following == "(":
                self._condition(index + 1)
            elif token.text in ("continue", "break") and following == ";":
                self._add(index, index, "")
            elif token.text == "return":
                self._early_return(index)
        elif token.kind == "op":
            self._operator(index, before)
        if (token.kind == "word" or token.text in ("++", "--")) and self._begins_statement(index):
            self._statement(index)

    def _operator(self, index, before):
        token = self.tokens[index]
        if before in ("operator", "template"):
            return
        if token.text in BINARY and token.spaced:
            if not self._beside_string(index):
                self._add(index, index, BINARY[token.text])
        elif token.text in ("++", "--"):
            self._add(index, index, "--" if token.text == "++" else "++")
        elif token.text == "!":
            self._add(index, index, "")

    def _beside_string(self, index):
        """Texts are joined by `+`; no other operator takes them."""
        return any(0 <= i < len(self.tokens) and self.tokens[i].kind == "string"
                   for i in (index - 1, index + 1))

    def _integer(self, index):
        token = self.tokens[index]
        match = INTEGER.match(token.text)
        before, following = self._text(index - 1), self._text(index + 1)
        if not match or (before == "<" and not self.tokens[index - 1].spaced):
            return
        if following in (">", ">>") and not self.tokens[index + 1].spaced:
            return
        if before == "=" and self._text(index - 2) in (")", "const", "override", "noexcept"):
            return  # a pure function
        value = int(match[1].replace("'", ""))
        values = (value + 1, value - 1) if value > 0 else (1,)
        self._add(index, index, *(f"{v}{match[2]}" for v in values))

    def _condition(self, opening):
        closing = self.partner.get(opening)
        if closing is None:
            return
        first = opening + 1
        for index in range(first, closing):  # after `if (auto x = f();`
            if self._text(index) == ";" and self._depth_between(opening, index) == 0:
                first = index + 1
        condition = self.text[self.tokens[first].begin:self.tokens[closing - 1].end]
        self._add(first, closing - 1, f"!({condition})")

    def _depth_between(self, opening, index):
        return sum(1 for i in range(opening + 1, index)
                   if i in self.partner and self.partner[i] > index)

    def _end_of_statement(self, index):
        while index < len(self.tokens) and self._text(index) != ";":
            if index in self.partner:
                if self.partner[index] < index:
                    return None  # an outer bracket closes
                index = self.partner[index]
            index += 1
        return index if index < len(self.tokens) else None

    def _early_return(self, index):
        """A return that something follows: without it the function goes on."""
        end = self._end_of_statement(index)
        if end is None:
            return
        closing = index - 1
        if self._text(closing) == "{":
            if self._text(end + 2) == "else":
                return
            closing -= 1
        opening = self.partner.get(closing) if self._text(closing) == ")" else None
        if opening is not None and self._text(opening - 1) in ("if", "for", "while"):
            if self._text(end + 1) != "else" and self._text(end + 1) + self._text(end + 2) != "}}":
                self._add(index, end - 1, "")

    def _begins_statement(self, index):
        before = self._text(index - 1)
        if not self.in_function[index] or self.tokens[index].text in NO_STATEMENT:
            return False
        if before == ")":
            return self._text(self.partner.get(index - 1, 0) - 1) in ("if", "for", "while")
        return before in (";", "{", "}", "else")

    def _statement(self, index):
        """A call, an assignment or a count that stands alone."""
        end = self._end_of_statement(index)
        if end is None:
            return
        at, name = index, self._text(index)
        while name not in ("++", "--"):
            following = self._text(at + 1)
            if following in ("::", ".", "->") and self.tokens[at + 2].kind == "word":
                at += 2
                name = self._text(at)
            elif following == "[" and at + 1 in self.partner:
                at = self.partner[at + 1]
            elif following == "(" and at + 1 in self.partner and name not in SPEED_ONLY:
                at = self.partner[at + 1]
                if at + 1 == end:
                    break
            elif following in ASSIGNMENTS or following in ("++", "--"):
                break
            else:
                return
        self._add(index, end - 1, "")


def find_places(text):
    return Finder(text).find()
