// install: copies this program. In an image that contains only the agent, there is no other program to do it.
#pragma once

namespace cloche::agent {

// To a path that does not exist yet; it can be executed by all. 0, or 1 with the error on stderr.
int run_install(const char* path);

}  // namespace cloche::agent
