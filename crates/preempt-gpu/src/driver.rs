//! The driver of a card, opened when it is asked for. Nothing has to be installed besides it, and nothing at all to build
//! this crate.

use crate::device::{Device, Trouble};
use libloading::Library;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

/// The driver's library.
const LIBRARY: &str = "libcuda.so.1";

/// Threads of a block.
const BLOCK: u32 = 128;
/// A longer text is compiled function by function, as code that is linked later: what the driver gains from looking at all of it takes it
/// twice as long.
const LONG: usize = 1 << 19;
/// What a linker is given: text of kernels.
const TEXT: c_int = 1;
/// The number of the attribute that counts multiprocessors.
const MULTIPROCESSORS: c_int = 16;

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*);)*) => {
        /// The functions of the driver that are used, each with the signature that its documentation gives.
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            fn of(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the driver's documentation gives these signatures for these names.
                unsafe { Ok(Functions { $($field: *library.get($name)?,)* }) }
            }
        }
    };
}

functions! {
    init = b"cuInit\0": fn(c_uint);
    device_get = b"cuDeviceGet\0": fn(*mut c_int, c_int);
    device_attribute = b"cuDeviceGetAttribute\0": fn(*mut c_int, c_int, c_int);
    context_retain = b"cuDevicePrimaryCtxRetain\0": fn(*mut *mut c_void, c_int);
    context_release = b"cuDevicePrimaryCtxRelease_v2\0": fn(c_int);
    context_set = b"cuCtxSetCurrent\0": fn(*mut c_void);
    synchronize = b"cuCtxSynchronize\0": fn();
    memory_info = b"cuMemGetInfo_v2\0": fn(*mut usize, *mut usize);
    allocate = b"cuMemAlloc_v2\0": fn(*mut u64, usize);
    free = b"cuMemFree_v2\0": fn(u64);
    fill = b"cuMemsetD8_v2\0": fn(u64, u8, usize);
    write = b"cuMemcpyHtoD_v2\0": fn(u64, *const c_void, usize);
    read = b"cuMemcpyDtoH_v2\0": fn(*mut c_void, u64, usize);
    copy = b"cuMemcpy\0": fn(u64, u64, usize);
    host_allocate = b"cuMemHostAlloc\0": fn(*mut *mut c_void, usize, c_uint);
    host_address = b"cuMemHostGetDevicePointer_v2\0": fn(*mut u64, *mut c_void, c_uint);
    host_free = b"cuMemFreeHost\0": fn(*mut c_void);
    module_load = b"cuModuleLoadDataEx\0": fn(*mut *mut c_void, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    module_unload = b"cuModuleUnload\0": fn(*mut c_void);
    link_create = b"cuLinkCreate_v2\0": fn(c_uint, *mut c_int, *mut *mut c_void, *mut *mut c_void);
    link_add = b"cuLinkAddData_v2\0": fn(*mut c_void, c_int, *mut c_void, usize, *const c_char, c_uint, *mut c_int, *mut *mut c_void);
    link_complete = b"cuLinkComplete\0": fn(*mut c_void, *mut *mut c_void, *mut usize);
    link_destroy = b"cuLinkDestroy\0": fn(*mut c_void);
    resident_blocks = b"cuOccupancyMaxActiveBlocksPerMultiprocessor\0": fn(*mut c_int, *mut c_void, c_int, usize);
    module_function = b"cuModuleGetFunction\0": fn(*mut *mut c_void, *mut c_void, *const c_char);
    module_global = b"cuModuleGetGlobal_v2\0": fn(*mut u64, *mut usize, *mut c_void, *const c_char);
    launch = b"cuLaunchKernel\0": fn(*mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void, *mut *mut c_void);
    error_string = b"cuGetErrorString\0": fn(c_int, *mut *const c_char);
}

/// A kernel of the present module.
#[derive(Clone, Copy)]
struct Kernel {
    function: *mut c_void,
    /// So many of its blocks are executed at the same time. Their threads take the next states of a range when they are done with the first
    /// ones, so that none of them is left for a second turn, in which most of the card would have nothing to do.
    blocks: u32,
}

/// A card behind its driver.
pub struct Driver {
    functions: Functions,
    multiprocessors: u32,
    device: c_int,
    context: *mut c_void,
    module: *mut c_void,
    kernels: HashMap<String, Kernel>,
    /// By address of the card, the memory of the machine that it reads there.
    outside: HashMap<u64, *mut c_void>,
    _library: Library,
}

// SAFETY: the driver may be called by any thread; a search makes the card its own before anything else.
unsafe impl Send for Driver {}

impl Driver {
    /// Opens the first card.
    pub fn open() -> Result<Self, Trouble> {
        // SAFETY: the driver's library runs its own initialisation, which asks nothing of the caller.
        let library = unsafe { Library::new(LIBRARY) }.map_err(|_| {
            Trouble(format!("there is no driver of an NVIDIA card here ({LIBRARY})"))
        })?;
        let functions = Functions::of(&library)
            .map_err(|error| Trouble(format!("the card's driver is too old: {error}")))?;
        let mut driver = Driver {
            functions,
            multiprocessors: 0,
            device: 0,
            context: null_mut(),
            module: null_mut(),
            kernels: HashMap::new(),
            outside: HashMap::new(),
            _library: library,
        };
        driver.start()?;
        Ok(driver)
    }

    /// Finds the card. To wake it up takes a quarter of a second, so that waits until it is needed.
    fn start(&mut self) -> Result<(), Trouble> {
        let (mut device, mut multiprocessors) = (0, 0);
        // SAFETY: all pointers are to variables of the types that the driver documents, and live through the calls.
        unsafe {
            self.done((self.functions.init)(0))?;
            self.done((self.functions.device_get)(&mut device, 0))?;
            let attribute = self.functions.device_attribute;
            self.done(attribute(&mut multiprocessors, MULTIPROCESSORS, device))?;
        }
        self.device = device;
        self.multiprocessors = multiprocessors.max(1) as u32;
        Ok(())
    }

    /// Makes the card that of the present thread.
    fn take(&mut self) -> Result<(), Trouble> {
        if self.context.is_null() {
            let mut context = null_mut();
            // SAFETY: the pointer is to a variable of the documented type.
            self.done(unsafe { (self.functions.context_retain)(&mut context, self.device) })?;
            self.context = context;
        }
        // SAFETY: the context was retained.
        self.done(unsafe { (self.functions.context_set)(self.context) })
    }

    /// A kernel of the module, by its name.
    fn find(&mut self, name: &str) -> Result<Kernel, Trouble> {
        let text = CString::new(name).map_err(|_| Trouble("a name with a zero".into()))?;
        let (mut function, mut each) = (null_mut(), 0);
        // SAFETY: the module is loaded, and the pointers are to variables of the documented types.
        unsafe {
            self.done((self.functions.module_function)(&mut function, self.module, text.as_ptr()))?;
            self.done((self.functions.resident_blocks)(&mut each, function, BLOCK as c_int, 0))?;
        }
        let kernel = Kernel { function, blocks: each.max(1) as u32 * self.multiprocessors };
        self.kernels.insert(name.into(), kernel);
        Ok(kernel)
    }

    /// Compiles a text as code that is linked later, links it, and loads it; gives the driver's result.
    ///
    /// # Safety
    /// The options are as many as the values, and as the driver documents them.
    unsafe fn link(
        &mut self,
        text: &CStr,
        options: &mut [c_int; 2],
        values: &mut [*mut c_void; 2],
    ) -> c_int {
        let (mut state, mut image, mut bytes) = (null_mut(), null_mut(), 0);
        // SAFETY: all pointers are to variables of the documented types; the image lives as long as the state, which is destroyed
        // behind its last use.
        unsafe {
            let created = (self.functions.link_create)(
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
                &mut state,
            );
            if created != 0 {
                return created;
            }
            let (at, length) = (text.as_ptr().cast_mut().cast(), text.count_bytes() + 1);
            let (name, none) = (c"kernels".as_ptr(), null_mut());
            let mut result =
                (self.functions.link_add)(state, TEXT, at, length, name, 0, none, null_mut());
            if result == 0 {
                result = (self.functions.link_complete)(state, &mut image, &mut bytes);
            }
            if result == 0 {
                let load = self.functions.module_load;
                result = load(&mut self.module, image, 0, null_mut(), null_mut());
            }
            (self.functions.link_destroy)(state);
            result
        }
    }

    /// What a result of the driver means.
    fn done(&self, result: c_int) -> Result<(), Trouble> {
        if result == 0 {
            return Ok(());
        }
        let mut text = std::ptr::null();
        // SAFETY: the driver sets the pointer to a string of its own, or to null.
        let text = unsafe {
            (self.functions.error_string)(result, &mut text);
            if text.is_null() { "unknown".into() } else { CStr::from_ptr(text).to_string_lossy() }
        };
        Err(Trouble(format!("the card's driver says: {text} ({result})")))
    }
}

impl Device for Driver {
    fn load(&mut self, text: &str) -> Result<(), Trouble> {
        /// The options of the driver for a text of errors, and for its length.
        const ERRORS: [c_int; 2] = [5, 6];
        self.take()?;
        self.kernels.clear();
        let text = CString::new(text).map_err(|_| Trouble("a text with a zero".into()))?;
        let mut log = vec![0_u8; 4096];
        let mut options = ERRORS;
        let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
        // SAFETY: the text ends with a zero, options and values are as many as said and as documented, and the module that is
        // given back is used nowhere else.
        let result = unsafe {
            if !self.module.is_null() {
                (self.functions.module_unload)(self.module);
                self.module = null_mut();
            }
            match text.count_bytes() > LONG {
                true => self.link(&text, &mut options, &mut values),
                false => (self.functions.module_load)(
                    &mut self.module,
                    text.as_ptr().cast(),
                    2,
                    options.as_mut_ptr(),
                    values.as_mut_ptr(),
                ),
            }
        };
        self.done(result).map_err(|Trouble(error)| {
            let log = String::from_utf8_lossy(&log);
            Trouble(format!("{error} {}", log.trim_end_matches('\0').trim()))
        })
    }

    fn allocate(&mut self, bytes: u64) -> Result<u64, Trouble> {
        let mut address = 0;
        // SAFETY: the address is a variable of the documented type.
        self.done(unsafe { (self.functions.allocate)(&mut address, bytes as usize) })?;
        Ok(address)
    }

    fn free(&mut self, address: u64) {
        // SAFETY: the driver refuses an address that it has not given.
        unsafe { (self.functions.free)(address) };
    }

    fn allocate_outside(&mut self, bytes: u64) -> Result<u64, Trouble> {
        /// The option of the driver for memory that the card reads where it is.
        const MAPPED: c_uint = 2;
        let (mut host, mut address) = (null_mut(), 0);
        // SAFETY: both are variables of the documented types; the memory is used through the driver alone.
        unsafe {
            self.done((self.functions.host_allocate)(&mut host, bytes as usize, MAPPED))?;
            let result = (self.functions.host_address)(&mut address, host, 0);
            if let Err(trouble) = self.done(result) {
                (self.functions.host_free)(host);
                return Err(trouble);
            }
        }
        self.outside.insert(address, host);
        Ok(address)
    }

    fn free_outside(&mut self, address: u64) {
        if let Some(host) = self.outside.remove(&address) {
            // SAFETY: the driver gave this pointer, and nothing refers to the memory any more.
            unsafe { (self.functions.host_free)(host) };
        }
    }

    fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<(), Trouble> {
        // SAFETY: the driver knows both places by their addresses, and checks the ranges.
        self.done(unsafe { (self.functions.copy)(to, from, bytes as usize) })
    }

    fn fill(&mut self, address: u64, bytes: u64, byte: u8) -> Result<(), Trouble> {
        // SAFETY: memory of the card; the driver checks the range.
        self.done(unsafe { (self.functions.fill)(address, byte, bytes as usize) })
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Trouble> {
        // SAFETY: as many bytes are read as there are.
        self.done(unsafe { (self.functions.write)(address, bytes.as_ptr().cast(), bytes.len()) })
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Trouble> {
        // SAFETY: as many bytes are written as there is room for.
        self.done(unsafe { (self.functions.read)(bytes.as_mut_ptr().cast(), address, bytes.len()) })
    }

    fn symbol(&mut self, name: &str) -> Result<u64, Trouble> {
        let name = CString::new(name).map_err(|_| Trouble("a name with a zero".into()))?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the module is loaded, and the pointers are to variables of the documented types.
        self.done(unsafe {
            (self.functions.module_global)(&mut address, &mut bytes, self.module, name.as_ptr())
        })?;
        Ok(address)
    }

    fn launch(&mut self, kernel: &str, threads: u64, parameter: u64) -> Result<(), Trouble> {
        let Kernel { function, blocks } = match self.kernels.get(kernel) {
            Some(known) => *known,
            None => self.find(kernel)?,
        };
        let blocks = threads.div_ceil(u64::from(BLOCK)).clamp(1, u64::from(blocks)) as u32;
        let mut value = parameter;
        let mut parameters: [*mut c_void; 1] = [(&raw mut value).cast()];
        // SAFETY: the kernel has one parameter of eight bytes, which lives until the launch is over.
        unsafe {
            self.done((self.functions.launch)(
                function,
                blocks,
                1,
                1,
                BLOCK,
                1,
                1,
                0,
                null_mut(),
                parameters.as_mut_ptr(),
                null_mut(),
            ))?;
            self.done((self.functions.synchronize)())
        }
    }

    fn available(&mut self) -> Result<u64, Trouble> {
        self.take()?;
        let (mut free, mut all) = (0, 0);
        // SAFETY: the pointers are to variables of the documented types.
        self.done(unsafe { (self.functions.memory_info)(&mut free, &mut all) })?;
        Ok(free as u64)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // SAFETY: nothing of the card is used any more.
        unsafe {
            if !self.module.is_null() {
                (self.functions.module_unload)(self.module);
            }
            if !self.context.is_null() {
                (self.functions.context_release)(self.device);
            }
        }
    }
}
