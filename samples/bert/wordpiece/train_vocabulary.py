#!/usr/bin/env python3
"""Trains the vocabulary of sample-bert and writes it, a piece a line.

Usage: train_vocabulary.py OUT
Needs a Python with the package `tokenizers`; vocab.txt was made with version 0.23.3. The text is
that of the licences of Debian 12, of which the sample learns one. Where they are others, the exit
code is 3. Letters of other scripts and some emoji are added, so that lines of other languages are
not all unknown.
"""
import hashlib
import os
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

FOLDER = "/usr/share/common-licenses"
SUM = "e702fc128a22ec5f42b88d701ba068de1515b336f5af4e0d6e144a3795587db2"  # of the texts of Debian 12
PIECES = 4096
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
GREEK = "αβγδεζηθικλμνξοπρςστυφχψω"
CYRILLIC = "абвгдежзиклмнопрстуфхцчшщъыьэюя"
HIRAGANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをん"
HAN = "一二三上下不中人但你們他來們國在大天子學小年心我文是時有本机来水火生的等語說这都長"
OTHERS = "!?%&*+=<>^|~$€£§°±½×÷…–—„“”‘’«»¿¡ßøæœłđþðıµ😀😂🙂👍🚀❤☃♫✓→ابتدرسلمنهويक्तनमरसहกขคงนมา가나다라마바사아자한국어"


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    files = [os.path.join(FOLDER, name) for name in sorted(os.listdir(FOLDER))]
    files = [path for path in files if not os.path.islink(path)]
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            digest.update(file.read())
    if digest.hexdigest() != SUM:
        print(f"{FOLDER} has other texts than that of Debian 12", file=sys.stderr)
        return 3
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # Characters within words get their numbers here. Else the trainer numbers them in the order of
    # a hash table, by which it also settles ties, and each training gives another vocabulary.
    inner = set()
    for path in files:
        with open(path, encoding="utf-8") as file:
            for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(
                    tokenizer.normalizer.normalize_str(file.read())):
                inner.update(word[1:])
    letters = tokenizer.normalizer.normalize_str(GREEK + CYRILLIC + HIRAGANA + HAN + OTHERS)
    trainer = trainers.WordPieceTrainer(
        vocab_size=PIECES, min_frequency=1, show_progress=False,
        special_tokens=SPECIAL + ["##" + letter for letter in sorted(inner)],
        initial_alphabet=sorted(set(letters) - {" "}))
    tokenizer.train(files, trainer)
    numbers = tokenizer.get_vocab()
    pieces = sorted(numbers, key=numbers.get)
    if len(pieces) != PIECES:
        print(f"{len(pieces)} pieces in place of {PIECES}", file=sys.stderr)
        return 1
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("".join(piece + "\n" for piece in pieces))
    return 0


if __name__ == "__main__":
    sys.exit(main())
