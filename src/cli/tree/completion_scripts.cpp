#include "cli/tree/completion_scripts.hpp"

namespace cloche::cli {

// What the program prints for them: `files` or `directories` if such may stand there too, then a candidate a line with
// its description behind a tab.

std::string_view bash_completion() {
  return R"shell(# Completion of cloche for bash; made by `cloche completion bash`.
_cloche() {
  local typed=${COMP_WORDS[COMP_CWORD]} line text
  local -a words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  # bash takes `=` and what follows for words of their own.
  local before=''
  local -a whole=()
  local word
  for word in "${words[@]}"; do
    if [[ ${#whole[@]} -gt 0 && ( $word == = || ${whole[-1]} == --*= ) ]]; then
      whole[-1]+=$word
    else
      whole+=("$word")
    fi
  done
  if [[ ${#whole[@]} -gt 0 && ${whole[-1]} == --*=* ]]; then before=${whole[-1]%%=*}=; fi
  [[ $typed == = ]] && typed=''
  COMPREPLY=()
  while IFS= read -r line; do
    text=${line%%$'\t'*}
    case $line in
      files) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$typed"); compopt -o filenames ;;
      directories) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$typed"); compopt -o filenames ;;
      *) COMPREPLY+=("${text#"$before"}"); [[ $text == *: ]] && compopt -o nospace ;;
    esac
  done < <("${COMP_WORDS[0]}" complete -- "${whole[@]}" 2>/dev/null)
}
complete -F _cloche cloche
)shell";
}

std::string_view zsh_completion() {
  return R"shell(#compdef cloche
# Completion of cloche for zsh; made by `cloche completion zsh`.
_cloche() {
  local line text description
  local -a candidates places
  while IFS= read -r line; do
    text=${line%%$'\t'*}
    description=${line#*$'\t'}
    case $line in
      files) _files ;;
      directories) _files -/ ;;
      *:$'\t'*) places+=("$text") ;;
      *) candidates+=("${text//:/\\:}:$description") ;;
    esac
  done < <("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( ${#candidates} )) && _describe 'cloche' candidates
  (( ${#places} )) && compadd -S '' -- "${places[@]}"
}
if [[ ${funcstack[1]} == _cloche ]]; then _cloche "$@"; else compdef _cloche cloche; fi
)shell";
}

std::string_view fish_completion() {
  return R"shell(# Completion of cloche for fish; made by `cloche completion fish`.
function __cloche_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
        switch $line
            case files
                __fish_complete_path (commandline -ct)
            case directories
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c cloche -f -a '(__cloche_complete)'
)shell";
}

}  // namespace cloche::cli
