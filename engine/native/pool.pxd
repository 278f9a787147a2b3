"""``std::vector`` with memory from the engine's pool (pool.h), declared like ``libcpp.vector``."""

cdef extern from "native/pool.h" namespace "engine" nogil:
    cdef cppclass vector[T]:
        ctypedef T value_type
        cppclass iterator:
            iterator() except +
            iterator(iterator&) except +
            T& operator*()
            iterator operator++()
            iterator operator--()
            iterator operator+(size_t)
            iterator operator-(size_t)
            ptrdiff_t operator-(iterator)
            bint operator==(iterator)
            bint operator!=(iterator)
            bint operator<(iterator)
        bint operator==(const vector&, const vector&)
        bint operator!=(const vector&, const vector&)
        bint operator<(const vector&, const vector&)
        vector() except +
        vector(size_t) except +
        vector(const vector&) except +
        void assign[InputIt](InputIt, InputIt) except +
        void assign(size_t, const T&) except +
        iterator begin()
        iterator end()
        bint empty()
        size_t size()
        size_t capacity()
        void resize(size_t) except +
        void resize(size_t, const T&) except +
        void reserve(size_t) except +
        void shrink_to_fit() except +
        T& operator[](size_t)
        T& front()
        T& back()
        T* data()
        void push_back(const T&) except +
        void pop_back()
        iterator insert(iterator, const T&) except +
        iterator insert[InputIt](iterator, InputIt, InputIt) except +
        iterator erase(iterator) except +
        iterator erase(iterator, iterator) except +
        void swap(vector&)
        void clear()

    # bytes of the vector's own memory, without memory that its elements hold
    size_t held_bytes[T](const vector[T]&)

    cdef cppclass Pool:
        bint is_low()
        bint claim()
        void decline()
        void prepare()
        bint claim_trim()
        void trim()
        size_t taken()
        size_t mapped()

        @staticmethod
        Pool& instance()
