"""Shared by the black-box tests: clients and servers on rclpy, and the executables under test."""
