# libeinkorn-host, shared and static: kernel/host.h and what it stands on, libc alone.
#
# Both show host_* and nothing else: a program may have an xmalloc or a buffer_put
# of its own. The shared one by a version script; for the static one all objects
# become one, in which every hidden name is made local.

file(GLOB host_sources CONFIGURE_DEPENDS kernel/host*.c)
list(APPEND host_sources kernel/path_search.c kernel/quiet_thread.c kernel/spawn.c
    bridge/buffer.c bridge/json_text.c bridge/json_text_check.c bridge/sha256.c bridge/utf8.c bridge/xalloc.c)

add_library(einkorn_host_objects OBJECT ${host_sources})
target_link_libraries(einkorn_host_objects PUBLIC einkorn_flags Threads::Threads)
# What the static library holds is for compilers of any kind, so it is machine code.
set_target_properties(einkorn_host_objects PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)

set(host_map ${CMAKE_SOURCE_DIR}/kernel/host.map)
add_library(einkorn_host SHARED)
target_link_libraries(einkorn_host PRIVATE einkorn_host_objects)
target_link_options(einkorn_host PRIVATE LINKER:--version-script=${host_map})
set_target_properties(einkorn_host PROPERTIES
    OUTPUT_NAME einkorn-host VERSION ${PROJECT_VERSION} SOVERSION 0
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}
    INTERPROCEDURAL_OPTIMIZATION OFF LINK_DEPENDS ${host_map})

set(host_archive ${CMAKE_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}/libeinkorn-host.a)
set(host_object ${CMAKE_BINARY_DIR}/einkorn-host.o)
add_custom_command(OUTPUT ${host_archive}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${host_archive}
    COMMAND ${CMAKE_LINKER} -r -o ${host_object} $<TARGET_OBJECTS:einkorn_host_objects>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${host_object}
    COMMAND ${CMAKE_AR} rcs ${host_archive} ${host_object}
    DEPENDS einkorn_host_objects $<TARGET_OBJECTS:einkorn_host_objects>
    COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(einkorn_host_static ALL DEPENDS ${host_archive})

# The file says where things are from where it lies, so that a moved tree is still right.
file(RELATIVE_PATH host_prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
    ${CMAKE_INSTALL_PREFIX})
configure_file(kernel/einkorn-host.pc.in einkorn-host.pc @ONLY)

install(TARGETS einkorn_host LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${host_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES kernel/host.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/einkorn)
install(FILES ${CMAKE_BINARY_DIR}/einkorn-host.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
