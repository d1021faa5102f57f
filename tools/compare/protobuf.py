"""A Perfetto trace as text, a line per packet, without knowing its messages' names."""

import struct


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("no number")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """[(number, wire type, value)] of a message; ValueError if it is none."""
    found, at = [], 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("no field")
        if wire == 0:
            value, at = varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            if at + size > len(data):
                raise ValueError("cut off")
            value, at = data[at:at + size], at + size
        elif wire == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError("cut off")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("unknown wire type")
        found.append((number, wire, value))
    return found


def text_of(wire, value):
    if wire == 0:
        return str(value)
    if wire in (1, 5):
        return repr(struct.unpack("<d" if wire == 1 else "<f", value)[0]) + "/" + value.hex()
    try:
        text = value.decode()
        if text.isprintable():
            return f"'{text}'"
    except UnicodeDecodeError:
        pass
    try:
        return message(value)
    except ValueError:
        return value.hex()


def message(data):
    return "{" + ", ".join(f"{number}: {text_of(wire, value)}"
                           for number, wire, value in fields(data)) + "}"


def packet_lines(data):
    return [f"packet {text_of(wire, value)}" for _, wire, value in fields(data)]
