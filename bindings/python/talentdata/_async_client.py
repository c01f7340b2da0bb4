"""The client for asyncio. `cargo xtask generate` makes the blocking classes from this file."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from ._async_list import AsyncList
from ._errors import InvalidArgumentError
from ._operations import AsyncOperations
from ._progress import Wanted, run_async
from ._results import BudgetState, Receipt, SyncReceipt
from ._talentdata import RawJob, Record, list_name
from ._warning import checked

if TYPE_CHECKING:
    import pyarrow


class AsyncClient(AsyncOperations):
    """A client of the service, for asyncio.

    `AsyncClient.__init__` describes its settings. Threads and event loops may share it. A forked child creates its own
    connections.
    """

    __slots__ = ()
    _awaited = True

    async def export(
        self,
        resources: Iterable[str | AsyncList[Any]],
        directory: str | os.PathLike[str],
        *,
        format: Literal["jsonl", "csv", "parquet", "arrow"] = "jsonl",
        resume: bool = False,
        restart: bool = False,
        mode: str | int | None = None,
        page_size: int | None = None,
        fields: list[str] | None = None,
        drop: list[str] | None = None,
        hash: list[str] | None = None,
        columns: Literal["typed", "json"] | list[str] = "typed",
        schema: Mapping[str, str | os.PathLike[str] | pyarrow.Schema | Record] | None = None,
        on_new_field: Literal["keep", "freeze", "fail"] = "keep",
        progress: Wanted = None,
    ) -> list[Receipt]:
        """Writes several lists to a directory, one after the other, each to a file such as `contacts.parquet`.

        See `AsyncList.export` for the arguments and errors.

        Args:
            resources: The lists, such as `["contacts", "vacancies"]`.
            directory: The directory. It is created if it does not exist.
            format: The format of all files.
            resume: Whether to continue each file where it was interrupted.
            restart: Whether to discard the kept records of interrupted exports, and to begin again. If there are kept
                records for any of the files, you must set either `resume` or `restart`; otherwise no request is sent.
            mode: See `export` of a list.
            page_size: Records per request; by default each list's maximum.
            fields: See `list` of a list.
            drop: See `list` of a list.
            hash: See `list` of a list.
            columns: The types of columns.
            schema: The columns of each list, by its name.
            on_new_field: See `list` of a list.
            progress: See `list` of a list.
        """
        names = self._names(resources)
        schemas = {list_name(name): one for name, one in (schema or {}).items()}
        for name in schemas:
            if name not in [one for one, _ in names]:
                raise InvalidArgumentError(f"schema: {name} is not among the lists to export")
        os.makedirs(directory, exist_ok=True)
        jobs = []
        for name, parameters in names:
            options: dict[str, Any] = {"resume": resume, "restart": restart, "page_size": page_size, "columns": columns}
            options |= {"fields": fields, "drop": drop, "hash": hash, "mode": mode}
            options |= {"schema": schemas.get(name), "on_new_field": on_new_field}
            path = os.path.join(directory, f"{name}.{format}")
            jobs.append((name, RawJob(self, False, (name, parameters), path, options, format)))
        RawJob.check_kept([job for _, job in jobs])
        return [checked(Receipt(await run_async(job, name, progress))) for name, job in jobs]

    async def sync(
        self,
        resources: Iterable[str | AsyncList[Any]],
        path: str | os.PathLike[str],
        *,
        confirm: bool = False,
        on_new_field: Literal["keep", "freeze", "fail"] = "keep",
        max_deletes: int | float | str | None = None,
        same_service: bool = False,
        keep: datetime.timedelta | str | None = None,
        keep_deleted: datetime.timedelta | str | None = None,
        dry_run: bool = False,
        mode: str | int | None = None,
        page_size: int | None = None,
        fields: list[str] | None = None,
        drop: list[str] | None = None,
        hash: list[str] | None = None,
        progress: Wanted = None,
    ) -> list[SyncReceipt]:
        """Updates a mirror, one list after the other: reads each list and commits its changes.

        A delete is reported only if it is proven that the record is gone. Until then the record is `missing`, and stays
        in the mirror. Each list is committed separately. Before the commit, and after any error or interruption, the
        mirror has the previous state of the list. Lists that were committed before stay committed. `Mirror` reads the
        file.

        Args:
            resources: The lists, such as `["contacts", "vacancies"]`; for a list with parameters, such as
                filters, the result of `client.contacts(...)`.
            path: The file of the mirror, an SQLite database. It is created if it does not exist.
            confirm: Scan a list again at once if records are missing after it changed during the scan.
            on_new_field: The treatment of fields for which the mirror has no column, and of values that do not fit the
                type of their column. `"keep"` adds columns for new fields, keeps values that do not fit in `_extra`,
                and reports both in `scan.schema` of the receipt. `"freeze"` adds no columns and reports nothing.
                `"fail"` raises a `SchemaError` and commits nothing. The first sync of a list decides the columns, and
                only reports.
            max_deletes: The maximum number of deletes in one sync: a number of records, or a share of the records of
                the list in the mirror, such as `"25%"` or `0.25`; `"100%"` accepts any number. By default a fifth,
                rounded up, and at least two. If there are more, none is committed, and the receipt has them as
                `withheld`.
            same_service: Accept a `base_url` that differs from the mirror's, because it is another address of the same
                service. The mirror stores the new address and keeps its history. The client ID must be the same. Set it
                once, after such a change.
            keep: The age, such as `"90d"`, after which changes and earlier versions are removed; by default all are
                kept. Ages are counted from sync to sync, and the changes of the last sync are always kept.
            keep_deleted: The age of a reported delete, such as `"30d"`, after which the record is erased with all its
                versions and changes. A change `erased` has its key until `keep` removes it.
            dry_run: Commit nothing. The receipts have the numbers of changes that a sync would commit.
            mode: The permissions of a new mirror, such as `"0640"`; by default `"0600"`, so that only its owner can read
                it. An existing mirror keeps its permissions.
            page_size: Records per request; by default each list's maximum.
            fields: See `list` of a list.
            drop: See `list` of a list.
            hash: See `list` of a list.
            progress: See `list` of a list.

        Raises:
            talentdata.BusyError: Another sync is writing to the mirror.
            talentdata.PathError: The file is not a mirror, or must not be written.
            talentdata.StorageFullError: The disk is full.
            talentdata.MismatchError: The mirror belongs to another service, client or set of parameters.
            talentdata.InvalidArgumentError: An argument is wrong.
            talentdata.Error: A page could not be fetched.
        """
        most = f"{max_deletes * 100}%" if isinstance(max_deletes, float) else max_deletes
        options: dict[str, Any] = {"confirm": confirm, "on_new_field": on_new_field, "same_service": same_service}
        options |= {"max_deletes": most, "keep": keep, "keep_deleted": keep_deleted, "dry_run": dry_run, "mode": mode}
        options |= {"page_size": page_size, "fields": fields, "drop": drop, "hash": hash}
        # All jobs are checked before the first one runs.
        jobs = [(list[0], RawJob(self, True, list, path, options)) for list in self._names(resources)]
        return [checked(SyncReceipt(await run_async(job, name, progress))) for name, job in jobs]

    def budget_state(self) -> BudgetState:
        """Returns the clients that share the request budget of this client, and their use of it. Sends no request.

        Raises:
            talentdata.ConfigError: The budget is not shared.
            talentdata.ConnectError: The server of the budget cannot be reached.
        """
        return BudgetState(self._budget())

    async def doctor(self) -> Record:
        """Checks the settings and what a client with them can reach, step by step.

        Sends at most five requests, and shows no secret. `talentdata.doctor` does the same with settings that may be
        wrong.

        Returns:
            `healthy`, `settings`, and `checks`: each has `name`, `status` (ok, failed or not_tried), `message` with the
            cause and the solution, and `kind`, the name of the error.
        """
        return Record(await self._doctor())

    async def close(self) -> None:
        """Closes the client. Running calls of other threads or tasks, and all later calls, raise `ClosedError`.

        Running scans, exports and syncs continue; `AsyncScan.close` ends a scan. The connections are closed when the
        last of them ends.
        """
        self._close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @staticmethod
    def _names(resources: Iterable[str | AsyncList[Any]]) -> list[tuple[str, str | None]]:
        """Returns the names of lists, and their parameters as JSON."""
        if isinstance(resources, str):
            raise InvalidArgumentError(f"resources: give a list of names, such as [{resources!r}]")
        names: list[tuple[str, str | None]] = []
        for one in resources:
            if isinstance(one, str):
                names.append((list_name(one), None))
            else:
                names.append(one._list)
        return names
