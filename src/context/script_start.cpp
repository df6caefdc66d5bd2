#include "context/script_start.hpp"

#include "context/figures_script.hpp"
#include "context/script_start_script.hpp"

namespace cloche {

void save_figures(ExecSpec& run, std::size_t script, std::string figure_prefix) {
  run.env["CLOCHE_FIGURES"] = std::move(figure_prefix);
  if (!run.zygote.empty()) return;  // it knows what to do
  const auto place = run.argv.begin() + static_cast<std::ptrdiff_t>(script);
  run.argv.insert(place, {"-c", std::string(figures_script) + script_start_script + "\nrun_script()\n"});
}

}  // namespace cloche
