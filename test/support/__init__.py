"""Shared by the black-box tests: clients and servers on rclpy, and the executables under test.

The tests have two kinds of action servers in Python. `servers.Server` follows a script of the test. `raw_action_server` is
the base of the servers that break the action protocol (`soak.faulty_server`) or measure it (`measure.servers`). The other
servers are those of nav_sim, which simulates a robot and has faults as parameters.
"""
