"""The fault campaign causes faults while the proxy works, and checks that nothing is lost that a client has seen.

`campaign` chooses the faults from a seed; `episode` runs a few of them in one home:

1. `disks` makes a folder or a disk for the home. A disk can be filled, fail, or lose power.
2. `fleet_home` starts `ghostfleet proxy` there, with Redis and the indexer.
3. `traffic` has the clients and the origin. The clients note each response whose end they saw.
4. `kinds` has the faults. A fault is injected at a random moment and ends; the fleet continues or is started again.
5. `checks` reads the home and names each invariant that does not hold.
6. `report` adds up the rounds.

When a client saw the last byte of a response, the response must be in a WARC file. When a client saw the close frame of
the origin of a WebSocket, the handshake and all earlier messages must be in WARC files, each message once and in order.
The kept messages of any other WebSocket must be its first ones, without a gap.
"""
