# Gives CTest the suites of a GoogleTest program: a process runs the cases of a suite, or of a part
# of a long one. To start a program for each case would take as long as the cases themselves.

# pipetrace_suites(NAME PROPERTIES): the tests of program NAME. PROPERTIES is text as after
# set_tests_properties(... PROPERTIES), with the values in [==[ ]==]. It has ENVIRONMENT.
function(pipetrace_suites NAME PROPERTIES)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${NAME}_suites.cmake")
  file(CONFIGURE OUTPUT "${file}.properties" CONTENT "${PROPERTIES}" @ONLY)
  add_custom_command(
    TARGET ${NAME} POST_BUILD BYPRODUCTS "${file}"
    COMMAND "${CMAKE_COMMAND}" -D "PROGRAM=$<TARGET_FILE:${NAME}>" -D "FILE=${file}" -P
            "${PROJECT_SOURCE_DIR}/cmake/list_suites.cmake"
    VERBATIM)
  file(CONFIGURE OUTPUT "${file}.in_ctest" @ONLY
       CONTENT "if(EXISTS [==[@file@]==])\n  include([==[@file@]==])\nelse()\n  add_test(@NAME@_NOT_BUILT @NAME@_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}.in_ctest")
endfunction()
