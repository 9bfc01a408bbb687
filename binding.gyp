{
  'target_defaults': {
    'include_dirs': ['native', "<!(node -p \"require('node-addon-api').include_dir\")"],
    'defines': ['NAPI_VERSION=9', 'NAPI_CPP_EXCEPTIONS', 'NODE_ADDON_API_DISABLE_DEPRECATED'],
    'cflags!': ['-fno-exceptions', '-O2'],
    'cflags_cc!': ['-fno-exceptions', '-fno-rtti', '-std=gnu++17', '-std=gnu++20'],
    'cflags_cc': ['-std=c++20', '-O3', '-fvisibility=hidden'],
    'ldflags': ['-static-libstdc++', '-static-libgcc', '-Wl,--exclude-libs,ALL'],
    'xcode_settings': {
      'GCC_ENABLE_CPP_EXCEPTIONS': 'YES',
      'GCC_ENABLE_CPP_RTTI': 'YES',
      'CLANG_CXX_LANGUAGE_STANDARD': 'c++20',
      'MACOSX_DEPLOYMENT_TARGET': '11.0'
    }
  },
  'variables': {
    'sources_of': 'node -p "process.argv.slice(1).flatMap((d) => fs.readdirSync(d).filter((f) => f.endsWith(\'.cpp\')).map((f) => d + \'/\' + f)).join(\' \')"'
  },
  'targets': [
    { 'target_name': 'kvidx', 'sources': ['<!@(<(sources_of) native/core native/binding)'] },
    {
      'target_name': 'kvidx_unbounded',
      'sources': ['<!@(<(sources_of) native/core native/binding)'],
      'defines': ['KVIDX_WITHOUT_BOUNDS']
    },
    {
      'target_name': 'kvidx_bench',
      'sources': ['<!@(<(sources_of) native/core native/binding native/bench)'],
      'sources!': ['native/binding/addon.cpp'],
      'conditions': [
        ['OS=="linux"', {
          'defines': ['KVIDX_COUNTED_MEMORY'],
          'ldflags': ['-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=posix_memalign,--wrap=free,--wrap=mmap,--wrap=mmap64,--wrap=munmap']
        }]
      ]
    }
  ]
}
