"""What a robot is asked for, what is answered and what is reported, without any transport.

- `verbs`: each verb: what its request and its answer hold
- `reports`: each subject of reports
- `parsing`, `dispatcher`, `group_dispatcher`: a request on its way in, and its answer
- `transactions`: a request that is sent again
- `request_log`: who has asked for what, and who was refused
- `lease`: who commands a robot
- `hub`: reports on their way out
- `documents`: JSON schemas of all that
- `interfaces`: who acts on requests
- `errors`: how a request is refused
- `pace`: how often something may be done
"""

# ruff: noqa: F403 - the face is what these modules name
from .dispatcher import Dispatcher, accepted, refuse_expired, refused
from .documents import schemas_of
from .errors import ErrorCode, RequestError, RequestProblem, unknown_robot
from .group_dispatcher import GroupDispatcher
from .hub import Report, ReportHub, Subscription
from .interfaces import Commands, Follower, Groups, GroupVerb, Motions, PlannedMotion
from .lease import Lease, Loss
from .pace import Pace, cost_of
from .parsing import RawRequest, crowded, is_crowded, most_bytes, parse
from .reports import *
from .verbs import *
