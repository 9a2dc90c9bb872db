"""What a terminal shows: the output of a program as a grid of cells.

A small model written for these tests: grapheme clusters take one place (as in terminals with mode 2027), wide ones two
columns, and a sequence that the model does not know is an error, so that nothing a language model says can pass as one.
"""
import re
import unicodedata

ZWJ, VS16 = "\u200d", "\ufe0f"
CSI = re.compile(r"\x1b\[([?>]?)([0-9;]*)([@-~])")


def is_regional(char):
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def joins(before, char):
    """Whether `char` belongs to the cluster `before`."""
    if not before or before == " ":
        return False
    if unicodedata.category(char) in ("Mn", "Me") or char in (ZWJ, VS16) or "\U0001f3fb" <= char <= "\U0001f3ff":
        return True
    if before[-1] == ZWJ:
        return True
    return is_regional(char) and len(before) == 1 and is_regional(before)


def width(cluster):
    if VS16 in cluster[1:] or (len(cluster) == 2 and is_regional(cluster[0])):
        return 2
    return max(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cluster)


class Screen:
    def __init__(self, columns=80, rows=24):
        self.columns, self.rows = columns, rows
        self.grid = [[] for _ in range(rows)]  # cells: one string a column, "" right of a wide cluster
        self.row = self.column = 0
        self.modes = set()
        self.scrolled = []  # rows that left at the top
        self.pending = ""

    # ---- what tests look at

    def line(self, row):
        return "".join(self.grid[row]).rstrip()

    def lines(self):
        return [self.line(row) for row in range(self.rows)]

    def text(self):
        """All rows, those that scrolled away first."""
        return "\n".join(self.scrolled + self.lines()).rstrip()

    def cursor(self):
        return self.row, self.column

    # ---- output of the program

    def feed(self, text):
        text = self.pending + text
        self.pending = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                match = CSI.match(text, at)
                if not match:
                    if len(text) - at < 32 and re.fullmatch(r"\x1b(\[[?>]?[0-9;]*)?", text[at:]):
                        self.pending = text[at:]
                        return
                    raise ValueError("unknown escape sequence %r" % text[at:at + 12])
                self.control(*match.groups())
                at = match.end()
            else:
                self.character(text[at])
                at += 1

    def character(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.line_feed()
        elif char == "\b":
            self.column = max(0, self.column - 1)
        elif char == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)
        elif unicodedata.category(char) == "Cc":
            raise ValueError("control character %r" % char)
        else:
            self.put(char)

    def line_feed(self):
        if self.row + 1 < self.rows:
            self.row += 1
            return
        self.scrolled.append(self.line(0))
        self.grid = self.grid[1:] + [[]]

    def put(self, char):
        cells = self.grid[self.row]
        last = self.column - 1
        while 0 <= last < len(cells) and cells[last] == "":
            last -= 1
        if 0 <= last < len(cells) and joins(cells[last], char):
            before = width(cells[last])
            cells[last] += char
            if width(cells[last]) > before:
                self.erase_cells(self.column, self.column + 1)
                self.grid[self.row][self.column:self.column + 1] = [""]
                self.column += 1
            return
        size = width(char)
        if self.column + size > self.columns:  # the wrap waits until something is written
            self.column = 0
            self.line_feed()
        self.erase_cells(self.column, self.column + size)
        self.grid[self.row][self.column:self.column + size] = [char] + [""] * (size - 1)
        self.column += size

    def erase_cells(self, begin, end):
        """Blanks columns; the other half of a wide cluster at an edge goes too."""
        cells = self.grid[self.row]
        cells.extend(" " * max(0, end - len(cells)))
        if begin < len(cells) and cells[begin] == "" and begin > 0:
            cells[begin - 1] = " "
        if end < len(cells) and cells[end] == "":
            cells[end] = " "
        cells[begin:end] = [" "] * (end - begin)

    def control(self, private, arguments, final):
        numbers = [int(n) if n else 0 for n in arguments.split(";")]
        first = max(1, numbers[0])
        if private == "?" and final in "hl":
            (self.modes.add if final == "h" else self.modes.discard)(numbers[0])
        elif private or final not in "ABCDHJKm":
            raise ValueError("unknown control sequence %r" % (private + arguments + final))
        elif final == "A":
            self.row = max(0, self.row - first)
        elif final == "B":
            self.row = min(self.rows - 1, self.row + first)
        elif final == "C":
            self.column = min(self.columns - 1, self.column + first)
        elif final == "D":
            self.column = max(0, self.column - first)
        elif final == "H":
            self.row, self.column = first - 1, max(1, numbers[-1] if len(numbers) > 1 else 1) - 1
        elif final == "J":
            self.erase_display(numbers[0])
        elif final == "K":
            self.grid[self.row] = self.grid[self.row][:self.column]

    def erase_display(self, how):
        if how == 2:
            self.grid = [[] for _ in range(self.rows)]
            return
        self.grid[self.row] = self.grid[self.row][:self.column]
        for row in range(self.row + 1, self.rows):
            self.grid[row] = []

    # ---- the user changes the window's width: rows that are too long wrap, as in terminals that reflow

    def resize(self, columns):
        lines, cursor = [], None
        for row, cells in enumerate(self.grid):
            cells = cells[:len("".join(c or "\0" for c in cells).rstrip(" "))]
            parts = [cells[i:i + columns] for i in range(0, max(1, len(cells)), columns)]
            if row == self.row:
                cursor = (len(lines) + self.column // columns, self.column % columns)
                while cursor[0] >= len(lines) + len(parts):
                    parts.append([])
            lines.extend(parts)
        while len(lines) > self.rows and not lines[-1] and len(lines) - 1 > cursor[0]:
            lines.pop()
        extra = max(0, len(lines) - self.rows)
        self.scrolled += ["".join(cells).rstrip() for cells in lines[:extra]]
        self.grid = (lines[extra:] + [[] for _ in range(self.rows)])[:self.rows]
        self.columns, self.row, self.column = columns, cursor[0] - extra, cursor[1]
