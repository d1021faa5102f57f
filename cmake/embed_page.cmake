# Writes FILE, the C++ source with the text of STYLE, and with those of SCRIPTS as one function
# (analysis/present/page/page.h). Run as `cmake -D FILE=... -D STYLE=... -D "SCRIPTS=A,B,..." -P
# embed_page.cmake`.
file(READ "${STYLE}" style)
string(REPLACE "," ";" scripts "${SCRIPTS}")
set(script "")
foreach(each IN LISTS scripts)
  file(READ "${each}" text)
  string(APPEND script "${text}")
endforeach()
file(WRITE "${FILE}"
     "#include \"analysis/present/page/page.h\"\n\nnamespace pipetrace {\n\n"
     "const std::string_view kPageStyle = R\"page(${style})page\";\n\n"
     "const std::string_view kPageScript = R\"page(\"use strict\";\n(() => {\n${script}})();\n)page\";\n\n"
     "}  // namespace pipetrace\n")
