#include "auth/testing/scratch.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace cloche::auth::testing {

ScratchDir::ScratchDir() {
  std::string form = (std::filesystem::temp_directory_path() / "cloche-auth-XXXXXX").string();
  if (!::mkdtemp(form.data())) throw std::runtime_error("mkdtemp " + form);
  path_ = form;
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void put_file(const std::string& path, std::string_view content, unsigned mode) {
  const std::string made = path + ".made";
  std::ofstream(made) << content;
  if (::chmod(made.c_str(), mode) != 0 || std::rename(made.c_str(), path.c_str()) != 0) {
    throw std::runtime_error("put " + path);
  }
}

std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace cloche::auth::testing
