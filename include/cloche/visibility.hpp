/// @file
/// Visibility of symbols: the shared library exports only what is marked CLOCHE_API. Everything else is hidden,
/// including symbols of other libraries.
#pragma once

/// Marks a part of the library's interface.
#define CLOCHE_API __attribute__((visibility("default")))
/// Marks what is not part of the interface although it is declared in a part of it.
#define CLOCHE_LOCAL __attribute__((visibility("hidden")))
