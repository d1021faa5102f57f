#!/usr/bin/env python3
"""Writes lines of many scripts, and the pieces into which PyPI's `tokenizers` cuts them.

Usage: expected_ids.py VOCABULARY SEED LINES OUT
       expected_ids.py --look VOCABULARY     (exit code 0 if this Python has `tokenizers`)
Each line of OUT is a JSON object {"text": ..., "ids": [...]}. expected_ids.jsonl is that of vocab.txt
with the seed 1 and 300 lines, made with tokenizers 0.23.3.
"""
import json
import random
import sys
import unicodedata

FAMILIES = [
    # (weight, characters): letters of a script, or ranges of code points
    (8, "abcdefghijklmnopqrstuvwxyz"),
    (3, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    (2, "0123456789"),
    (3, "éèêëàâäçñöüßÅÇÉÎÔÛÿžščřůąęłøæœđþğışİ"),
    (2, range(0x0300, 0x0340)),   # combining accents
    (2, "αβγδεζηθικλμνξοπρστυφχψωςΆΈΉΑΒΓΔΣΩάέήίόύώ"),
    (2, "абвгдежзийклмнопрстуфхцчшщъыьэюяёЖЩЮЯЇє"),
    (2, range(0x4E00, 0x4F00)),
    (1, range(0x3400, 0x3440)),
    (1, range(0x20000, 0x20040)),
    (1, range(0xF900, 0xF940)),
    (2, range(0x3041, 0x3097)),
    (1, range(0x30A1, 0x30F7)),
    (1, range(0xAC00, 0xAC80)),   # Hangul syllables
    (1, range(0x0905, 0x0940)),   # Devanagari
    (1, range(0x0E01, 0x0E3B)),   # Thai
    (1, range(0x05D0, 0x05EB)),   # Hebrew
    (1, range(0x0621, 0x0653)),   # Arabic and its marks
    (2, range(0x1F600, 0x1F640)),  # emoji
    (1, "\u2764\ufe0f\u200d\U0001F468\U0001F469\U0001F467\U0001F1E9\U0001F1EA\U0001F44D\U0001F3FD"),
    (2, ".,;:!?'\"()[]{}<>/\\|@#$%^&*-_=+`~"),
    (2, "–—…“”‘’«»„¿¡§¶†‡•·、。「」・！？"),
    (1, "€£¥©®™°±×÷√∞≤≥→←↑↓"),
    (1, "ﬁﬂﬀſℌⅣ①Ａｂ１"),
    (1, "".join(chr(c) for c in list(range(0x00, 0x20)) + list(range(0x7F, 0xA0)))),
    (1, "\u00ad\u200b\u200c\u200e\u2060\ufeff\ufffd\ue000\U000F0000\u0000"),
]
BLANKS = " \t\u00a0\u2003\u3000\u2028"
WORDS = ("the licence of a program shall be free software warranty unaffable distribution naïve "
         "Résumé GNU can't e.g. http://www.gnu.org/licenses/ v3.0 co-operate İstanbul STRASSE "
         "[MASK] [UNK] ##ing don't 1,000.50 こんにちは世界 Привет 你好世界 한국어 مرحبا שלום नमस्ते ภาษาไทย").split()


def line_of(draw):
    """A line of words of known pieces, of letters of one script, and of a mixture."""
    parts = []
    for _ in range(draw.randrange(0, 14)):
        kind = draw.random()
        if kind < 0.35:
            parts.append(draw.choice(WORDS))
        elif kind < 0.4:
            parts.append(draw.choice("abcxyzé") * draw.randrange(90, 110))
        else:
            mixed = kind > 0.85
            family = draw.choices(FAMILIES, [weight for weight, _ in FAMILIES])[0]
            word = ""
            for _ in range(draw.randrange(1, 12)):
                if mixed:
                    family = draw.choices(FAMILIES, [weight for weight, _ in FAMILIES])[0]
                letter = draw.choice(family[1])
                word += letter if isinstance(letter, str) else chr(letter)
            parts.append(unicodedata.normalize("NFD", word) if draw.random() < 0.2 else word)
        parts.append(draw.choice(BLANKS) * draw.choice([0, 1, 1, 1, 1, 2]))
    return "".join(parts)


def main():
    if len(sys.argv) not in (3, 5):
        print(__doc__, file=sys.stderr)
        return 2
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    if sys.argv[1] == "--look":
        return 0
    vocabulary, seed, lines, out = sys.argv[1:]
    with open(vocabulary, encoding="utf-8") as file:
        numbers = {piece: number for number, piece in enumerate(file.read().split("\n")[:-1])}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    draw = random.Random(int(seed))
    with open(out, "w", encoding="utf-8") as file:
        for _ in range(int(lines)):
            text = line_of(draw)
            ids = tokenizer.encode(text).ids
            file.write(json.dumps({"text": text, "ids": ids}, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
