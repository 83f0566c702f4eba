"""What a reader of a notebook sees, in a form that is easy to write down and to compare."""

import html.parser


class Table(html.parser.HTMLParser):
    """The rows of an HTML table as lists of texts."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.cell = [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.cell = ""

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("th", "td"):
            self.rows[-1].append(self.cell)
            self.cell = None


def rows(text):
    return Table(text).rows


def of_output(output):
    if output.output_type == "stream":
        return (output.name, output.text)
    if output.output_type == "error":
        return ("error", output.ename, output.evalue)
    kind = "result" if output.output_type == "execute_result" else "display"
    if "text/html" in output.data and "<table" in output.data["text/html"]:
        return (kind, rows(output.data["text/html"]))
    if set(output.data) == {"text/plain"}:
        return (kind, output.data["text/plain"])
    return (kind, dict(output.data))


def of_cell(cell):
    """The outputs of a cell; pieces of one stream are one."""
    found = []
    for item in map(of_output, cell.outputs):
        if found and item[0] in ("stdout", "stderr") and found[-1][0] == item[0]:
            found[-1] = (item[0], found[-1][1] + item[1])
        else:
            found.append(item)
    return found


def of_notebook(notebook):
    return [of_cell(cell) for cell in notebook.cells if cell.cell_type == "code"]
