"""Why a folder of motions is not watched at the moment, in words, and what to do about it."""

from __future__ import annotations

import errno
import os
import re

_TRIED_AGAIN = "is not watched; {}; it is tried again; {}"
_NOT_UTF8 = (
    "a name is no UTF-8; each change of that file has the folder watched from the beginning; rename it"
)
_OF_WATCHFILES = "WatchfilesRustInternalError"  # the module is loaded by those alone who watch
_LOOK = "look at the folder"
_NO_FOLDER, _NO_RIGHT = "name a folder that is there", "let the user that motiond runs as read it"
_HINTS = {
    errno.ENOENT: "make the folder",
    errno.ENOTDIR: _NO_FOLDER,
    errno.ELOOP: _NO_FOLDER,
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.EMFILE: "raise fs.inotify.max_user_instances",
    errno.ENOSPC: "raise fs.inotify.max_user_watches",
}
_CODE = re.compile(r"\(os error (\d+)\)")  # as watchfiles words what the system says


def why_unwatched(error: Exception) -> str:
    """Return the message for a failure to watch a folder; '' where only a traceback can explain it.

    - `error`: of the system, or of watchfiles, whose own are `RuntimeError` and come in groups
    """
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    said = str(error)
    if isinstance(error, UnicodeError) or said.startswith("Unable to decode path"):
        return _NOT_UTF8
    code = error.errno if isinstance(error, OSError) else None
    if code is None and (found := _CODE.search(said)):
        code = int(found[1])
    if code is None and "watch limit" in said:
        code = errno.ENOSPC
    if code in _HINTS:
        return _TRIED_AGAIN.format(os.strerror(code), _HINTS[code])
    if isinstance(error, OSError):
        return _TRIED_AGAIN.format(error.strerror or said, _LOOK)
    return _TRIED_AGAIN.format(said, _LOOK) if type(error).__name__ == _OF_WATCHFILES else ""
