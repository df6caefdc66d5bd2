# Writes a text file as a C++ header with a raw string `<stem>_script` in NAMESPACE.
file(READ ${INPUT} text)
get_filename_component(stem ${INPUT} NAME_WE)
file(WRITE ${OUTPUT} "// Made from ${stem}.py at build time.\n#pragma once\nnamespace ${NAMESPACE} {\ninline constexpr const char* ${stem}_script = R\"~~~(${text})~~~\";\n}\n")
