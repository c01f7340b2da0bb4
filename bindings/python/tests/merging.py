"""Changes as a mirror tells them, made from the sandbox's log of truth, to be applied to databases."""

import datetime

import pyarrow as pa

import talentdata

META = pa.schema(
    [
        pa.field("_generation", pa.int64(), nullable=False),
        pa.field("_op", pa.string(), nullable=False),
        pa.field("_key", pa.string(), nullable=False),
        pa.field("_last_seen", pa.timestamp("us", "UTC")),
        pa.field("_seen", pa.timestamp("us", "UTC"), nullable=False),
    ]
)


def rows(table):
    """The rows of a table by the id of their record."""
    return {row["id"]: row for row in table.to_pylist()}


def generation(number, ops, before, after):
    """The changes of a generation: of each key its operation, with the record as it is in one of two tables."""
    seen = datetime.datetime(2026, 11, number, 6, tzinfo=datetime.timezone.utc)
    last_seen = seen - datetime.timedelta(days=1)
    told = []
    for key, op in ops.items():
        record = (before if op in ("delete", "missing") else after)[key]
        meta = {"_generation": number, "_op": op, "_key": key, "_seen": seen}
        told.append({**meta, "_last_seen": None if op == "insert" else last_seen, **record})
    return told


class Truth:
    """A list that changes, and the generations of changes by which a table follows it.

    `unsigned` is the type of columns for integers beyond 2^63, which not every database has.
    """

    def __init__(self, resource, count, generations, unsigned=None):
        self.generations = []
        with talentdata.Sandbox(records={resource: count}) as sandbox, sandbox.client() as client:
            list_of = getattr(client, resource)
            schema = list_of.schema()
            tables, skip = [], 0
            for number in range(1, generations + 1):
                if number > 1:
                    sandbox.change(resource, update=count // 5, delete=count // 10, insert=count // 8)
                table = list_of.list(schema=schema).to_arrow()
                tables.append(self._typed(table, unsigned))
                log = sandbox.changes(resource, skip)
                skip += len(log)
                before, after = (rows(table) if table else {} for table in ([None, *tables][-2], tables[-1]))
                touched = [change["key"] for change in log] if number > 1 else [*after]
                ops = {}
                for key in touched:
                    if key in before or key in after:
                        ops[key] = "delete" if key not in after else "update" if key in before else "insert"
                # Not proven to be gone; and one of them comes back as it was.
                still = [key for key in before if key in after and key not in ops][:4]
                ops.update(dict.fromkeys(still[:2], "missing") | dict.fromkeys(still[2:], "return"))
                columns = pa.schema([*META, *tables[-1].schema])
                self.generations.append(pa.Table.from_pylist(generation(number, ops, before, after), columns))
            self.table = tables[-1]
        self.columns = self.table.column_names
        self.schema = self.generations[0].schema

    @staticmethod
    def _typed(table, unsigned):
        if unsigned is None:
            return table
        fields = [field.with_type(unsigned) if field.type == pa.uint64() else field for field in table.schema]
        return table.cast(pa.schema(fields))

    def twice_over(self):
        """Every generation, each twice."""
        for changes in self.generations:
            yield changes
            yield changes

    def rows(self):
        return sorted(self.table.to_pylist(), key=lambda row: row["id"])
