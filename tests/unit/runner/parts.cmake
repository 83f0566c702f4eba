# The runner's parts linked with a libpython, for tests that are their own
# interpreter. Nothing of the product links it.

find_package(Python3 3.11 REQUIRED COMPONENTS Development.Embed)

add_library(einkorn_runner_parts STATIC ${runner_sources})
target_compile_definitions(einkorn_runner_parts PUBLIC
    Py_LIMITED_API=0x030B0000 EINKORN_PYTHON_HALF="${CMAKE_SOURCE_DIR}/bridge/python")
target_include_directories(einkorn_runner_parts SYSTEM PUBLIC ${Python3_INCLUDE_DIRS})
target_link_libraries(einkorn_runner_parts
    PUBLIC einkorn_both ${Python3_LIBRARIES} ${CMAKE_DL_LIBS})
