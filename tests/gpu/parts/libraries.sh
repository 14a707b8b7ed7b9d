# SPDX-License-Identifier: GPL-3.0-or-later
# Finds CUDA's libraries: in the CUDA Toolkit, or else in NVIDIA's wheels, which PyTorch installs.
# Sourced.

# add_folder FOLDER [first]: adds the folder to LD_LIBRARY_PATH, which the loader searches first.
add_folder() {
  if [ "${2-}" = first ]; then LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; else LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$1; fi
  export LD_LIBRARY_PATH
}

# is_new_enough PROGRAM...: true if the C++ library has all symbol versions that the programs need.
is_new_enough() { ! ldd "$@" 2>&1 | grep -qE 'libstdc\+\+.*not found|(GLIBCXX|CXXABI)_.*not found'; }

# Prints the missing libraries: those that the GPU module links, and those that it opens on demand.
lacking() {
  local library
  ldd "$bin/trainyard-cuda.so" 2>/dev/null | awk '/=> not found/ { print $1 }'
  for library in libcudnn.so.9 libnccl.so.2; do if ! is_found "$library"; then echo "$library"; fi; done
}

is_found() {
  local folder folders
  IFS=: read -ra folders <<<"${LD_LIBRARY_PATH-}:/usr/local/cuda/lib64"
  for folder in "${folders[@]}"; do if [ -n "$folder" ] && [ -e "$folder/$1" ]; then return; fi; done
  grep -qF "$1 " <<<"$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null)"
}

# Prints the library folders of wheels: nvidia/cu13/lib, nvidia/cublas/lib, nvidia/nccl/lib, ...
wheel_folders() {
  LD_LIBRARY_PATH=$libraries_of_python "$python" -c 'import glob, nvidia; print(*[lib for at in nvidia.__path__ for lib in sorted(glob.glob(at + "/*/lib"))], sep="\n")' \
    2>/dev/null || true
}

# Adds the wheel folders with missing libraries. Other folders would hide the system's libraries.
add_wheels() {
  local library folder folders wanting
  wanting=$(LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64 lacking)
  if [ -z "$wanting" ]; then return; fi
  folders=$(wheel_folders)
  for library in $wanting; do
    while IFS= read -r folder; do
      if [ -n "$folder" ] && [ -e "$folder/$library" ] && [[ ":${LD_LIBRARY_PATH-}:" != *":$folder:"* ]]; then add_folder "$folder"; fi
    done <<<"$folders"
  done
}
