/// @file
/// What the shared library shows: only that which is marked CLOCHE_API. All else in it is hidden, ours and that of
/// others.
#pragma once

/// Part of the library's interface.
#define CLOCHE_API __attribute__((visibility("default")))
/// Not part of it, though declared in something that is.
#define CLOCHE_LOCAL __attribute__((visibility("hidden")))
