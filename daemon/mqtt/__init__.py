"""The MQTT transport.

- `topics`: how topics are spelled
- `connection`: clients for the configured broker
- `attempt`: what one of them meets as it connects
- `refusals`: topics on which the broker takes nothing, told together
- `connection_log`: a connection made, lost and made again, each told once
- `reasons`: why there is no connection, in words
- `link`: keeps a connection, for ever
- `brokers`: which of several brokers is used, and when each is tried again
- `bridge`: carries requests in and reports out, over two connections
- `main_session`: the one for reports and stops
- `requests_session`: the one for all other requests
- `heartbeat`: the daemon hears itself through the broker
- `subscriptions`: subscribes, and says what the broker refuses
- `inbox`: requests that wait to be served
- `stop_intake`: stops, served as they arrive
- `stop_order`: which requests a stop has overtaken
- `responder`: serves a request and sends its answer
- `complaints`: the log of refusals, which no client can flood
- `reports_out`: publishes reports
- `retained`: what the broker keeps for the daemon, and what others make of it
- `results`: results that could not be told yet
- `home_assistant`: what Home Assistant is told of the robots
- `identity`: who a daemon is among others
- `former_robots`: robots that are no longer in the configuration
- `claims`: which daemon has which robot's name
- `broker`: the embedded broker
- `asyncapi`: all topics and messages as a document
"""
