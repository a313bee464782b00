"""What the black-box tests share: a rclpy side to play clients and servers, and the executables under test."""
