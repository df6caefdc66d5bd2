// Plain runs of Python scripts whose figures are saved: what matplotlib shows or leaves open becomes PNG files, without
// a screen and without a word from the caller. matplotlib is imported by the caller's script or not at all.
#pragma once

#include <string>

#include "cloche/exec.hpp"

namespace cloche {

// For a run of `python3 [options] SCRIPT ARGUMENT...`, forked from a zygote (argv begins with the script) or not (then
// `script` is its index in argv). A figure's path is `figure_prefix`, a number and ".png".
void save_figures(ExecSpec& run, std::size_t script, std::string figure_prefix);

}  // namespace cloche
