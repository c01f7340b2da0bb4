"""Client of the skills and talent data service.

>>> import talentdata
>>> with talentdata.Sandbox(records={"contacts": 5}) as sandbox:
...     client = sandbox.client()  # elsewhere: talentdata.Client()
...     len(list(client.contacts.list()))
5
"""

from collections.abc import Mapping as _Mapping

from . import _errors, _exit, _models
from ._client import AsyncClient, Client
from ._error import Error
from ._errors import *  # noqa: F403
from ._models import *  # noqa: F403
from ._mirror import Mirror, Rows, SyncReceipt
from ._open_enum import OpenEnum
from ._page import Page
from ._plan import LastResponse, Plan
from ._polars import scan_polars
from ._receipt import Basis, Completeness, Receipt
from ._resource import AsyncResource, Resource
from ._sandbox import Sandbox
from ._scan import AsyncScan, Scan
from ._talentdata import Record, __version__
from ._verify import Verification, verify

# Whoever asks for a mapping, as pandas does, is served by a record.
_Mapping.register(Record)

__all__ = [
    "AsyncClient",
    "AsyncResource",
    "AsyncScan",
    "Basis",
    "Client",
    "Completeness",
    "Error",
    "LastResponse",
    "Mirror",
    "OpenEnum",
    "Page",
    "Plan",
    "Receipt",
    "Record",
    "Resource",
    "Rows",
    "Sandbox",
    "Scan",
    "SyncReceipt",
    "Verification",
    "__version__",
    "scan_polars",
    "verify",
]
__all__ += _errors.__all__
__all__ += _models.__all__

# People meet these classes here, in messages and in pickles.
for _name in __all__:
    if getattr(globals()[_name], "__module__", "").startswith(f"{__name__}._"):
        globals()[_name].__module__ = __name__
