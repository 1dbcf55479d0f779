"""This package tells people and programs what happened, by e-mail and webhooks.

| module | content |
|---|---|
| `events` | `Event`: what can be told |
| `subscriptions` | who wants to hear of which event, of one harvest or of all |
| `outbox` | `notify`, which a use case calls in the transaction of its change; the list of messages |
| `sender` | `Sender` sends what waits; the scheduler calls `look` again and again |
| `webhook`, `mail`, `message` | one delivery each, and the texts |
| `retries` | when a message is tried again, and when it is given up |
| `operations` | what people and programs reach through the API |

A message is sent at least once: the sender that dies between the delivery and its commit leaves a claim that expires,
and the message is sent again with the same id. The package imports `models`, and rules of addresses from `proxy`.
"""
