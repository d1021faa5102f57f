# Included by the build for mutants, with PIPETRACE_UNITE: the libraries of the folder whose sources
# change are compiled file by file, so that a mutant is one small compile. All else stays united.
function(compile_apart FOLDER)
  get_property(targets DIRECTORY "${FOLDER}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    if(NOT target MATCHES "_test$")
      set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL compile_apart "${CMAKE_CURRENT_SOURCE_DIR}/${PIPETRACE_MUTANTS_IN}")
