# Included by CMake after `project` when scripts/setup builds the packages in interfaces/. navtree uses the C types, and clients
# of the tests the Python types. Without the type support for C++ the build takes half of the time. The C++ headers are
# generated: packages that depend on these ones are built for all languages.
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_typesupport_.*cpp")
