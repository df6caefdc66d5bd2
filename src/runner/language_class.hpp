// Which class of a Java source holds the program.
#pragma once

#include <string>
#include <string_view>

namespace cloche {

struct JavaClass {
  std::string name = "Main";
  std::string package;  // with dots; empty: none
};

// The public type at the top, else the first type at the top that has a main method, else Main. Comments and literals
// do not mislead it. Any bytes are taken, in one pass; what is no Java yields some name that the compiler then refuses.
JavaClass find_java_class(std::string_view source);

}  // namespace cloche
