# SPDX-License-Identifier: GPL-3.0-or-later
# Where the libraries of CUDA are: of the CUDA Toolkit, or else of NVIDIA's wheels, which PyTorch brings along. Sourced.

# add_folder FOLDER [first]: to those where the loader looks before it looks where it always does.
add_folder() {
  if [ "${2-}" = first ]; then LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; else LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$1; fi
  export LD_LIBRARY_PATH
}

# is_new_enough PROGRAM...: whether the C++ library that they find has all that they want.
is_new_enough() { ! ldd "$@" 2>&1 | grep -qE 'libstdc\+\+.*not found|(GLIBCXX|CXXABI)_.*not found'; }

# Those that a GPU's module cannot do without, and those that are opened when somebody asks for them.
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

# nvidia/cu13/lib, nvidia/cublas/lib, nvidia/nccl/lib, ... wherever python3 has them.
wheel_folders() {
  LD_LIBRARY_PATH=$libraries_of_python "$python" -c 'import glob, nvidia; print(*[lib for at in nvidia.__path__ for lib in sorted(glob.glob(at + "/*/lib"))], sep="\n")' \
    2>/dev/null || true
}

# The folders of wheels that have what is lacking; no others, lest they stand before what the system has.
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
