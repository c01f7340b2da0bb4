"""Values that the document shows some of: strings, so that new ones are welcome."""


class OpenEnum(str):
    """A string out of a set that may grow; the values known today are attributes of its class.

    >>> from talentdata import ApiStatus
    >>> ApiStatus("operational") == ApiStatus.OPERATIONAL == "operational"
    True
    >>> ApiStatus("sleeping").is_known
    False
    """

    __slots__ = ()

    @property
    def is_known(self) -> bool:
        """Whether the document shows this value."""
        known = vars(type(self)).items()
        return any(name.isupper() and value == self for name, value in known)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"
