// SPDX-License-Identifier: GPL-3.0-or-later
// Check of the address space (ulimit -v) before libraries start. OpenBLAS starts its threads while
// the program is loaded. If they cannot map memory, it retries forever, or ends the program with
// SIGINT.
#pragma once

namespace trainyard::app {

// Makes the linker add the check to a program. The check itself runs before `main` and before the
// initializers of libraries: it writes an error and exits with 3 if the limit is too low.
void add_address_space_check();

}  // namespace trainyard::app
