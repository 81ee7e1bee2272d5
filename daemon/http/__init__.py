"""The page and the HTTP interface: the same requests and reports as over MQTT, without a broker.

- `server`: listens, and keeps trying where it cannot
- `endpoint`: serves the application at an address
- `certificate`: what connections are encrypted with, renewed as its files change
- `application`: which path leads where
- `answering`: answers each request in one form, whatever goes wrong
- `guard`: who is let in
- `tokens`: how somebody shows that they know the token
- `login`: gives a browser a cookie for it
- `connections`: how many there may be, and how long one may take to ask
- `exchange`: reads a request's body, answers in JSON
- `robot_api`: what robots are asked for and what is known of them
- `fleet_api`: what groups are asked for
- `model_api`: what robots look like, and the files of their meshes
- `motions_api`: motions to look at, and new ones
- `thumbnail`: a motion as a small drawing
- `live`: reports as they come, over WebSockets
- `client`: serves one of them, its requests too
- `metrics`: what Prometheus scrapes
- `tally`: adds up what robots report for it
- `metric_families`: the metrics, by name
- `listings`, `openapi`: all of it as a document
- `frames`: telemetry and motions as arrays of numbers
- `page`: the page's own files
"""
