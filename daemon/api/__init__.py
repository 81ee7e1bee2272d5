"""What a robot is asked for, what is answered and what is reported, without any transport.

- `schemas`: what each verb takes
- `names`: the names that clients need before they know any schema
- `requests`: a request on its way in, and the table of verbs
- `errors`: how a request is refused
- `dispatcher`: answers every request, and acts once
- `lease`: who commands a robot
- `motions`: motions to look at, and new ones
- `groups`: groups of robots, for a transport that has no part in them
- `reports`: what the world is told
- `lasting_models`, `report_models`, `answers`: what that and the answers hold, for documents of it
- `pace`: how often something may be done
"""
