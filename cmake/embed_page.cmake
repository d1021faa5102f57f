# Writes FILE, the C++ source with the texts of STYLE and SCRIPT (analysis/page/page_assets.h). Run
# as `cmake -D FILE=... -D STYLE=... -D SCRIPT=... -P embed_page.cmake`.
file(READ "${STYLE}" style)
file(READ "${SCRIPT}" script)
file(WRITE "${FILE}"
     "#include \"analysis/page/page_assets.h\"\n\nnamespace pipetrace {\n\n"
     "const std::string_view kPageStyle = R\"page(${style})page\";\n\n"
     "const std::string_view kPageScript = R\"page(${script})page\";\n\n}  // namespace pipetrace\n")
