"""Client of the skills and talent data service.

>>> import talentdata
>>> with talentdata.Sandbox(records={"contacts": 5}) as sandbox:
...     client = sandbox.client()  # elsewhere: talentdata.Client()
...     len(list(client.contacts.list()))
5
"""

from collections.abc import Mapping as _Mapping

from . import _errors, _interpreter, _models, _process, _results  # noqa: F401 (some act when they are loaded)
from ._async_client import AsyncClient
from ._async_list import AsyncList, AsyncScan
from ._client import Client
from ._doctor import doctor
from ._error import Error
from ._errors import *  # noqa: F403
from ._list import List, Scan
from ._mirror import Mirror, Rows, verify
from ._models import *  # noqa: F403
from ._page import Page
from ._polars import scan_polars
from ._record import OpenEnum
from ._results import *  # noqa: F403
from ._sandbox import Sandbox
from ._talentdata import Record, __version__
from ._warning import IncompleteWarning

#: True if scans, exports and syncs may show progress. Functions that are passed as `progress` are always called.
progress = True

# Code that expects a mapping, for example in pandas, accepts a record.
_Mapping.register(Record)

__all__ = [
    "AsyncClient",
    "AsyncList",
    "AsyncScan",
    "Client",
    "Error",
    "IncompleteWarning",
    "List",
    "Mirror",
    "OpenEnum",
    "Page",
    "Record",
    "Rows",
    "Sandbox",
    "Scan",
    "__version__",
    "doctor",
    "scan_polars",
    "verify",
]
__all__ += _errors.__all__
__all__ += _models.__all__
__all__ += _results.__all__

# Messages and pickles name these classes by this module, from which applications import them.
for _name in __all__:
    if getattr(globals()[_name], "__module__", "").startswith(f"{__name__}._"):
        globals()[_name].__module__ = __name__
