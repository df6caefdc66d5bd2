# Compresses manual pages and changelogs, and removes the debug information of static libraries, as Debian's packages do.
# CPack runs this on the installed files, before it packs them.
file(GLOB_RECURSE texts ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/*.1 ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*/changelog)
file(GLOB_RECURSE archives ${CPACK_TEMPORARY_DIRECTORY}/*/usr/lib/*.a)
foreach(text ${texts})
  execute_process(COMMAND gzip -9nf ${text} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(archive ${archives})
  execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${archive} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
